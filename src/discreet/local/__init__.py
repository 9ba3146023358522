"""Local privacy: each person's device sends one randomised report, and a collector learns a model from reports."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.local.campaign import Campaign
    from discreet.local.classifier import LocalNB
    from discreet.local.client import LocalClient
    from discreet.local.collector import Collector
    from discreet.local.projections import PublicDCA, PublicPCA

_HOME = {
    "Campaign": "campaign",
    "Collector": "collector",
    "LocalClient": "client",
    "LocalNB": "classifier",
    "PublicDCA": "projections",
    "PublicPCA": "projections",
}
__all__ = ["Campaign", "Collector", "LocalClient", "LocalNB", "PublicDCA", "PublicPCA"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"discreet.local.{_HOME[name]}"), name)
    raise AttributeError(f"module 'discreet.local' has no attribute {name!r}")
