"""Federated training: nodes that keep their rows, and a coordinator that ends up with a model and nothing else."""
