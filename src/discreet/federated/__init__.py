"""Federated Naive Bayes."""
