"""giaretta2022: decentralised Naive Bayes, federated and by gossip; each is a part of its own."""
