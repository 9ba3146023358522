"""The status page: how a collection is going, for people; nothing about any single report."""

from __future__ import annotations

from html import escape
from typing import Any

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .2rem 1.2rem .2rem 0; border-bottom: 1px solid #8884; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.big { font-size: 2.5rem; font-weight: 600; margin: .5rem 0 0; }
"""
_REASONS = {
    "malformed": "damaged, or not what the mechanism could have said",
    "foreign": "about another schema",
    "unexpected": "of another design than this collection's",
    "replayed": "counted before",
}


def page(facts: dict[str, Any]) -> str:
    """A whole HTML page."""
    rejected = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_REASONS[name])}</td><td class=n>{count:,}</td></tr>"
        for name, count in facts["rejected"].items()
    )
    asked = "".join(
        f"<tr><th>{escape(str(one['about']))}</th><td>{escape(one['mechanism'])}</td>"
        f"<td class=n>{one['bytes']}</td></tr>"
        for one in facts["questions"]
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>Collection of private reports</title><style>{_STYLE}</style><h1>Collection of private reports</h1>"
        f"<p class=big>{facts['accepted']:,}</p><p>reports accepted since {escape(facts['since'])}, each with "
        f"ε = {facts['epsilon']:g}. Every device randomises what it says before sending it.</p>"
        f"<h2>Rejected</h2><table>{rejected}</table>"
        "<h2>What is asked</h2><p>Each person is asked about "
        f"{facts['reports_per_person']} of these, drawn at random.</p>"
        f"<table><tr><th>about</th><th>mechanism</th><th>bytes</th></tr>{asked}</table>"
        f"<p>schema {escape(facts['schema_hash'][:16])}… · <a href=campaign.json>campaign.json</a></p></html>"
    )
