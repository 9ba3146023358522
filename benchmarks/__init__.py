"""Benchmarks: ratios against peers in the same run, never absolute times."""
