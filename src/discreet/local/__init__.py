"""Local privacy: each person's device sends one randomised report, and a collector learns a model from reports."""
