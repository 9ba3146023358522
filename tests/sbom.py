"""The list of components (CycloneDX 1.6): python -m tests.sbom --write draws sbom.json from constraints.txt."""

from __future__ import annotations

import json
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
FILE = ROOT / "sbom.json"


def pins() -> list[tuple[str, str]]:
    """Names and versions of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [(name, version) for name, _, version in (line.partition("==") for line in lines if "==" in line)]


def licence(name: str) -> str | None:
    """What the installed package says of its licence: an expression, a classifier, or a short text."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    kinds = [text.split(" :: ")[-1] for text in about.get_all("Classifier") or [] if text.startswith("License ::")]
    text = about.get("License") or ""
    return about.get("License-Expression") or " and ".join(kinds) or (text if 0 < len(text) < 60 else None)


def draw(known: dict[str, str | None] | None = None) -> dict[str, Any]:
    """The document; licences are looked up, or taken from `known` for what is not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    parts = []
    for name, version in pins():
        said = licence(name) or (known or {}).get(f"{name}=={version}")
        part: dict[str, Any] = {"type": "library", "name": name, "version": version}
        parts.append({**part, "licenses": [{"license": {"name": said}}]} if said else part)
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {"type": "application", "name": project["name"], "version": project["version"],
                                   "licenses": [{"expression": project["license"]}]}},
        "components": parts,
    }  # fmt: skip


def licences(document: dict[str, Any]) -> dict[str, str | None]:
    """Licences by name and version."""
    return {
        f"{part['name']}=={part['version']}": part["licenses"][0]["license"]["name"]
        for part in document["components"]
        if "licenses" in part
    }


if __name__ == "__main__" and "--write" in sys.argv:
    before = licences(json.loads(FILE.read_text(encoding="utf-8"))) if FILE.exists() else {}
    FILE.write_text(json.dumps(draw(before), indent=1) + "\n", encoding="utf-8")
