"""docs/schema.md is followed literally, and names every setting; the JSON Schema of editors agrees with the models."""

from __future__ import annotations

import json
import re
import tomllib

import pytest

from discreet import Categorical, Date, Numeric, Schema
from discreet.cli.editor import json_schema_of_files
from tests.pages import DOCS, blocks

PAGE = "schema.md"


def test_the_files_on_the_page_load(tmp_path):
    sizes = []
    for text in blocks(PAGE, "toml"):
        (tmp_path / "s.toml").write_text(text)
        sizes.append(len(Schema.load(tmp_path / "s.toml").features))
    assert sizes == [10, 3]


FEATURES = {"categorical": Categorical, "numeric": Numeric, "date": Date}
DERIVED = {"lower", "upper", "integer", "step", "bounds", "parse", "transform"}


def test_the_page_and_the_editor_know_every_setting():
    page = (DOCS / PAGE).read_text()
    editor = {
        one["title"]: set(one["properties"])
        for one in json_schema_of_files()["properties"]["features"]["items"]["anyOf"]
    }
    for kind, made in FEATURES.items():
        known = set(made.model_fields) - (DERIVED if kind == "date" else set())
        assert editor[kind] == known | {"columns"}
        assert not [key for key in known - {"kind", "name"} if not re.search(rf"`{key}`|`{key}\b", page)]
    assert set(json_schema_of_files()["properties"]) == set(Schema.model_fields) | {"columns"}


def _fits(value, rule):
    """The part of JSON Schema that the editor's file uses."""
    if ("const" in rule and value != rule["const"]) or ("enum" in rule and value not in rule["enum"]):
        return False
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}
    wanted = rule.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if wanted and not any(isinstance(value, kinds[one]) and (one == "boolean" or value is not True) for one in wanted):
        return False
    if isinstance(value, dict):
        known = rule.get("properties", {})
        if not rule.get("additionalProperties", True) and set(value) - set(known):
            return False
        if any(not _fits(value[key], known[key]) for key in value.keys() & known.keys()):
            return False
        if set(rule.get("required", ())) - set(value):
            return False
    if isinstance(value, list) and (
        len(value) < rule.get("minItems", 0) or not all(_fits(one, rule.get("items", {})) for one in value)
    ):
        return False
    return (
        all(_fits(value, one) for one in rule.get("allOf", ()))
        and ("anyOf" not in rule or any(_fits(value, one) for one in rule["anyOf"]))
        and ("oneOf" not in rule or sum(_fits(value, one) for one in rule["oneOf"]) == 1)
    )


@pytest.mark.parametrize(
    ("old", "new", "fits"),
    [
        ("", "", True),
        ("classes", "clases", False),
        ('unit = "month"', 'unit = "hour"', False),
        ("lower = 0.5", "min = 0.5", False),
        ('missing = "bin"', 'missing = "category"', False),
        ('name = "ward"', "", False),
        ('bounds = "private"', "", False),
    ],
)
def test_the_editor_tells_good_files_from_bad_ones(old, new, fits, tmp_path):
    text = blocks(PAGE, "toml")[0].replace(old, new, 1)
    found = json.loads(json.dumps(tomllib.loads(text), default=str))
    assert _fits(found, json_schema_of_files()) == fits
    try:
        loaded = Schema.from_dict(found)
    except Exception:
        loaded = None
    assert (loaded is not None) == fits
