"""Report: one interactive page over studies, audits, benchmarks, comparisons and models, from their files alone."""

from __future__ import annotations

from discreet.report.findings import Findings, read
from discreet.report.page import render

__all__ = ["Findings", "read", "render"]
