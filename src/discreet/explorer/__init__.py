"""Explorer: the everyday path on a local page, from a table of rows to a released model and its dossier."""

from __future__ import annotations

from discreet.explorer.server import Explorer
from discreet.explorer.work import Work

__all__ = ["Explorer", "Work"]
