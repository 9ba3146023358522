"""The list: one module per room. How to add a fault: docs/mutants.md."""
