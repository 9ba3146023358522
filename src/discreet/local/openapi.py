"""The OpenAPI document of the HTTP collector: what it answers, for programs that are to speak with it."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from discreet.local.store import FATES


def document(max_bytes: int) -> dict[str, Any]:
    """The description of all addresses, in OpenAPI 3.1."""
    error = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
    outcome = {"type": "object", "properties": {fate: {"type": "integer", "minimum": 0} for fate in FATES}}
    refusals = {
        "403": "a page of a web site that may not post",
        "408": "the body came too slowly",
        "413": f"more than {max_bytes} bytes",
        "415": "another content type, or compressed",
        "503": "reports cannot be kept now: try again after Retry-After",
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Collector of private reports", "version": version("discreet")},
        "paths": {
            "/reports": {
                "post": {
                    "summary": "Reports, one frame after another; counted once, and on disk when this answers",
                    "parameters": [
                        {
                            "name": "discreet-token",
                            "in": "header",
                            "description": "lets one new report in, where the collection wants tokens",
                            "schema": {"type": "string"},
                        }
                    ],
                    "requestBody": {
                        "required": True,
                        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
                    },
                    "responses": {
                        "200": _answer("how many reports met which fate", {**outcome, "required": list(FATES)}),
                        **{status: _answer(about, error) for status, about in refusals.items()},
                    },
                }
            },
            "/status": _get("counts, epsilon and since when", {"200": _answer("the facts", {"type": "object"})}),
            "/campaign.json": _get("the public design", {"200": _answer("the campaign", {"type": "object"})}),
            "/client.mjs": _file("the JavaScript client", "text/javascript"),
            "/page.mjs": _file("the script of the participants' page", "text/javascript"),
            "/page.css": _file("the style of all pages", "text/css"),
            "/healthz": _get(
                "whether reports can be kept, found out by writing",
                {"200": _answer("they can", {"type": "object"}), "503": _answer("they cannot", error)},
            ),
            "/metrics": _get("counts for Prometheus", {"200": _answer("text", {"type": "string"}, "text/plain")}),
            "/openapi.json": _get("this document", {"200": _answer("the document", {"type": "object"})}),
        },
    }


def _get(summary: str, responses: dict[str, Any]) -> dict[str, Any]:
    return {"get": {"summary": summary, "responses": responses}}


def _file(about: str, kind: str) -> dict[str, Any]:
    return _get(about, {"200": _answer("its text", {"type": "string"}, kind)})


def _answer(about: str, schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"description": about, "content": {kind: {"schema": schema}}}
