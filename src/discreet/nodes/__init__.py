"""What federated and gossip nodes share: keys, ledgers on disk, terms, updates and what a sum of them is worth."""
