"""Planted privacy faults: each is put into a scratch copy of the tree, and the tests that should notice are run."""
