"""Train and release classifiers on sensitive tables with differential privacy."""
