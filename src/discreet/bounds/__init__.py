"""Bounds: limits and bins of numbers, found by noisy histograms over powers of two before anything is counted."""

from discreet.bounds.release import Settlement, private_bounds

settle_schema = private_bounds  # its name in version 0.1

__all__ = ["Settlement", "private_bounds", "settle_schema"]
