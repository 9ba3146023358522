"""Bounds: limits and bins of numbers, bought by noisy histograms over powers of two before anything is counted."""

from discreet.bounds.release import Settlement, settle_schema

__all__ = ["Settlement", "settle_schema"]
