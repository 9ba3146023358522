"""Pages about collections: how one is going, and a list of several; nothing about any single report."""

from __future__ import annotations

from html import escape
from typing import Any

from discreet.local.participants import HEADERS, head
from discreet.local.texts import TEXTS

STATUS_HEADERS = {**HEADERS, "content-security-policy": "default-src 'none'; style-src 'self'; img-src data:"}
_REASONS = {
    "malformed": "damaged, or not what the mechanism could have said",
    "foreign": "about another schema",
    "unexpected": "of another design than this collection's",
    "replayed": "counted before",
}


def page(facts: dict[str, Any]) -> str:
    """How a collection is going."""
    rejected = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(_REASONS[name])}</td>'
        f'<td class="number">{count:,}</td></tr>'
        for name, count in facts["rejected"].items()
    )
    asked = "".join(
        f'<tr><th scope="row">{escape(str(one["about"]))}</th><td>{escape(one["mechanism"])}</td>'
        f'<td class="number">{one["bytes"]}</td></tr>'
        for one in facts["questions"]
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("about", "mechanism", "bytes"))
    title = facts.get("title") or "Collection of private reports"
    return (
        f'{head(title)}</head><body><main><h1>{escape(title)}</h1><p class="big">{facts["accepted"]:,}</p>'
        f"<p>reports accepted since {escape(facts['since'])}, each with "
        f"ε = {facts['epsilon']:g}. Every device randomises what it says before sending it.</p>"
        f"<h2>Rejected</h2><table>{rejected}</table>"
        "<h2>What is asked</h2><p>Each person is asked about "
        f"{facts['reports_per_person']} of these, drawn at random.</p>"
        f"<table><thead><tr>{heads}</tr></thead><tbody>{asked}</tbody></table>"
        f'<p>schema {escape(facts["schema_hash"][:16])}… · <a href="campaign.json">campaign.json</a></p>'
        "</main></body></html>\n"
    )


def index(listed: list[dict[str, Any]]) -> str:
    """The list of all collections of a server, with where each is."""
    items = "".join(
        f'<li><p><a href="{escape(one["path"])}">{escape(one["title"])}</a> · ε = {one["epsilon"]:g} · '
        f'{one["accepted"]:,} reports · <a href="{escape(one["path"])}status" aria-label="status of '
        f'{escape(one["title"])}">status</a></p></li>'
        for one in listed
    )
    return (
        f"{head(TEXTS['index'])}</head><body><main><h1>{escape(TEXTS['index'])}</h1>"
        f"<p>{escape(TEXTS['index_about'])}</p><ul>{items}</ul></main></body></html>\n"
    )
