"""The JSON Schema of schema files, by which editors complete and check them."""

from __future__ import annotations

from typing import Any

from discreet.features import DEFAULT_BINS
from discreet.readings import PARTS, SCALES, UNITS

_TEXT = {"type": "string", "minLength": 1}
_VALUES = {"type": "array", "minItems": 1, "items": {"type": ["string", "integer", "boolean"]}}
_DAY = {"type": "string", "description": "A public day, such as 2020-01-31; TOML's own dates do as well."}
_FORMAT = {"type": "string", "description": "How texts write dates, such as %d.%m.%Y; ISO 8601 if left out."}
_NAMED = {
    "name": {**_TEXT, "description": "The column."},
    "columns": {
        "type": "array", "items": _TEXT, "minItems": 1,
        "description": "In the place of name: columns, or patterns such as lab_*, that are declared together.",
    },
}  # fmt: skip


def _feature(kind: str, required: list[str], words: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object", "title": kind, "description": words, "additionalProperties": False,
        "properties": {"kind": {"const": kind}, **_NAMED, **fields},
        "allOf": [{"oneOf": [{"required": ["name"]}, {"required": ["columns"]}]}, {"required": required}],
    }  # fmt: skip


def _bins(of: dict[str, Any]) -> dict[str, Any]:
    return {
        "description": "A number of bins of equal width, or their edges from the lower to the upper bound.",
        "default": DEFAULT_BINS,
        "oneOf": [{"type": "integer", "minimum": 1, "maximum": 65536}, {"type": "array", "items": of, "minItems": 2}],
    }


def json_schema_of_files() -> dict[str, Any]:
    """What a schema file may hold, in the words that editors read."""
    place = {
        "enum": ["error", "bin"],
        "default": "error",
        "description": "Missing values: refused, or a bin of their own.",
    }
    numeric: dict[str, Any] = {
        "lower": {"type": "number", "description": "The public lower bound; values below are clipped to it."},
        "upper": {"type": "number", "description": "The public upper bound; values above are clipped to it."},
        "integer": {"type": "boolean", "default": False, "description": "Whether values are whole numbers."},
        "step": {"type": "number", "exclusiveMinimum": 0, "description": "What all values are multiples of."},
        "bins": _bins({"type": "number"}), "missing": place,
        "bounds": {"const": "private", "description": "Nobody knows bounds: a fit or 'discreet settle' buys them."},
        "parse": {
            "description": "How texts write numbers: comma; thousands; below=half; above=limit; unit=kg; missing=n/a.",
            "oneOf": [_TEXT, {"type": "array", "items": _TEXT}],
        },
        "transform": {"enum": list(SCALES), "description": "The scale on which bins are equally wide."},
    }  # fmt: skip
    categorical: dict[str, Any] = {
        "categories": {**_VALUES, "description": "Every value that can occur."},
        "other": {"type": "string", "description": "The name of a bucket for all values that are not listed."},
        "missing": {"enum": ["error", "category"], "default": "error",
                    "description": "Missing values: refused, or a category of their own."},
        "match": {"const": "pattern", "description": "Categories are patterns: E1*, ?9, [A-C]*; the first that fits."},
        "transform": {"enum": list(PARTS), "description": "Days of the week or months of dates; no categories then."},
        "format": _FORMAT,
    }  # fmt: skip
    dated: dict[str, Any] = {
        "start": _DAY, "end": _DAY, "unit": {"enum": list(UNITS), "default": "day"}, "bins": _bins(_DAY),
        "missing": place, "format": _FORMAT,
    }  # fmt: skip
    features = [
        _feature("numeric", [], "A number with public bounds.", numeric)
        | {"anyOf": [{"required": ["lower", "upper"]}, {"required": ["bounds"]}]},
        _feature("categorical", [], "A feature with a declared list of categories.", categorical)
        | {"anyOf": [{"required": ["categories"]}, {"required": ["transform"]}]},
        _feature("date", ["start", "end"], "A date between two public days.", dated),
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Schema of discreet",
        "description": "All that is public about a table: its features, its target and the target's classes.",
        "type": "object", "additionalProperties": False, "required": ["target", "classes", "features"],
        "properties": {
            "version": {"const": 1},
            "target": {**_TEXT, "description": "The column to predict."},
            "classes": {**_VALUES, "minItems": 2, "description": "Every class that the target can have."},
            "id": {**_TEXT, "description": "The column that names the person whom a row is about."},
            "inferred": {"type": "boolean", "default": False, "description": "Whether this was read off the data."},
            "columns": {"type": "array", "items": _TEXT,
                        "description": "The names of the table's columns, for patterns among the features."},
            "features": {"type": "array", "minItems": 1, "items": {"anyOf": features}},
            "provenance": {"type": "array", "items": {"type": "object"},
                           "description": "Private releases from which a part of this schema comes."},
        },
    }  # fmt: skip
