"""The campaign: the public design of a collection, from which clients draw and by which collectors count."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from discreet.errors import BudgetError, DiscreetError, SchemaError
from discreet.files import parse_json, write_text
from discreet.local.chances import local_epsilon
from discreet.local.entropy import Source, below
from discreet.local.fingerprint import fingerprint
from discreet.local.inputs import Input, half_of, input_of, point_features
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import ORACLES, make_oracle
from discreet.local.oracles.choice import check_theta
from discreet.local.wire.report import HEAD, LONGEST, MILLION, MOST_PARTS
from discreet.privacy.budget import number
from discreet.schema import Schema

FORMAT = "discreet/campaign"
VERSION = 1
PINNED = ("schema", "columns", "target")


class Question(NamedTuple):
    """An input with the mechanism that answers it."""

    input: Input
    mechanism: Any


class Campaign:
    """Who collects what: a schema, ε per person, and how values and numbers are reported.

    Parameters
    ----------
    schema : Schema
    epsilon : float
        What all that one person sends may cost; rounded down to a millionth.
    oracle : "auto" or a name
        How values out of a list are reported: "grr", "oue", … (`discreet.local.oracles.ORACLES`), or for each
        input the one of lowest variance.
    numeric : "bins" or a name
        How numbers are reported: by their bin, or as numbers for bell curves.
    reports : int, default 1
        Inputs that each person reports about, at ε/reports each.
    theta : float or None
        The threshold of "the", in thousandths.
    """

    def __init__(
        self,
        schema: Schema,
        epsilon: Any,
        *,
        oracle: str = "auto",
        numeric: str = "bins",
        reports: int = 1,
        theta: float | None = None,
    ) -> None:
        if schema is None:
            raise SchemaError("a campaign needs a schema: declare one with Schema(...) or Schema.load(file)")
        schema = Schema.of(schema)
        for feature in schema.features:
            if not feature.plain:
                raise SchemaError(
                    f"devices do not read {feature.name!r} as the schema says (parse, transform, dates or patterns): "
                    "declare what a device sends, a number or a listed category"
                )
        self.schema = schema
        self.epsilon = Fraction(math.floor(local_epsilon(epsilon) * MILLION), MILLION)
        if oracle != "auto" and oracle not in ORACLES:
            raise BudgetError(f"there is no oracle {oracle!r}: choose auto, {', '.join(ORACLES)}")
        check_numeric(numeric)
        if theta is not None:
            check_theta(oracle)
        self.oracle, self.numeric = oracle, numeric
        self.theta = None if theta is None else float(number(theta, "theta"))
        if isinstance(reports, bool) or not isinstance(reports, int) or not 1 <= reports <= MOST_PARTS:
            raise BudgetError(f"reports must be a whole number from 1 to {MOST_PARTS}, not {reports!r}")
        self.reports, self.inputs = reports, tuple(self._inputs())
        if reports > len(self.inputs):
            raise BudgetError(f"there are {len(self.inputs)} inputs: a person cannot report about {reports}")
        widest = sum(sorted(one.mechanism.width for one in self.questions)[-reports:]) + 20 * reports + 40
        if widest + HEAD > LONGEST:
            raise BudgetError(f"reports of {widest} bytes are too long: choose oracle='auto', 'olh' or 'hadamard'")

    def _inputs(self) -> list[Input]:
        schema, numbers = self.schema, point_features(self.schema)
        pointwise = set() if self.numeric == "bins" else {one.name for one in numbers}
        at_once = self.numeric != "bins" and NUMBERS[self.numeric].at_once
        chosen = [input_of(schema, 0)]
        for j, feature in enumerate(schema.features, start=1):
            if feature.name not in pointwise:
                chosen.append(input_of(schema, 3 * j - 2))
            elif not at_once:
                chosen += [input_of(schema, 3 * j - 1), input_of(schema, 3 * j)]
        if at_once and numbers:
            last = 3 * len(schema.features)
            chosen += [input_of(schema, last + 1), input_of(schema, last + 2)]
        return chosen

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """Each input with its mechanism at ε/reports."""
        return tuple(self._question(one) for one in self.inputs)

    def _question(self, asked: Input) -> Question:
        share = self.epsilon / self.reports
        if asked.numeric:
            return Question(asked, mechanism_of(self.schema, asked.index, NUMBERS[self.numeric].code, 0, share))
        return Question(asked, make_oracle(self.oracle, domain_of(self.schema, asked), share, theta=self.theta))

    def choose(self, source: Source) -> list[int]:
        """Which questions a person answers: places in `questions`, drawn evenly and without looking at any row."""
        places = list(range(len(self.questions)))
        for i in range(self.reports):
            j = i + below(source, len(places) - i)
            places[i], places[j] = places[j], places[i]
        return places[: self.reports]

    def describe(self) -> list[dict[str, Any]]:
        """For each input its domain, mechanism and bytes: what `oracle="auto"` chose."""
        return [
            {
                "input": one.input.index,
                "about": one.input.label(self.schema),
                "domain": domain_of(self.schema, one.input) if not one.input.numeric else None,
                "mechanism": one.mechanism.name,
                "bytes": one.mechanism.width,
            }
            for one in self.questions
        ]

    def to_dict(self) -> dict[str, Any]:
        """All that a client in any language needs, thresholds included."""
        return {
            "format": FORMAT,
            "version": VERSION,
            **self.settings,
            "schema_hash": self.schema.hash,
            "schema": self.schema.to_dict(),
            "columns": [_column(feature) for feature in self.schema.features],
            "target": _column(self.schema.label),
            "questions": [
                {
                    "input": one.input.index,
                    "kind": one.input.kind,
                    "feature": None if one.input.feature is None else one.input.feature.name,
                    "code": one.mechanism.code,
                    "parameter": one.mechanism.parameter,
                    "width": one.mechanism.width,
                    "constants": one.mechanism.constants(),
                }
                for one in self.questions
            ],
        }

    @property
    def settings(self) -> dict[str, Any]:
        """All but the schema, as plain values."""
        told = {name: getattr(self, name) for name in ("oracle", "numeric", "reports", "theta")}
        return {"epsilon": str(self.epsilon), **told}

    @cached_property
    def fingerprint(self) -> str:
        """What tells this campaign from any other, thresholds included."""
        return fingerprint(self.to_dict())

    @cached_property
    def pin(self) -> str:
        """The fingerprint of the schema and of how values are read by it: what clients may insist on."""
        whole = self.to_dict()
        return fingerprint({name: whole[name] for name in PINNED})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the campaign as JSON, for clients in other languages."""
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=1) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Campaign:
        """Read a campaign file; the thresholds are computed anew, never trusted."""
        try:
            return cls.read(Path(path).read_bytes(), str(path))
        except OSError as error:
            raise DiscreetError(f"cannot read the campaign {path}: {error.strerror or error}") from None

    @classmethod
    def read(cls, raw: bytes, name: str = "this") -> Campaign:
        """A campaign file's contents; `name` says in errors where they come from."""
        try:
            fields = parse_json(raw)
            if not isinstance(fields, dict) or fields.get("format") != FORMAT or fields.get("version") != VERSION:
                raise DiscreetError(f"{name} is not a campaign of this version")
            settings = {key: fields[key] for key in ("oracle", "numeric", "reports", "theta")}
            return cls(Schema.from_dict(fields["schema"]), Fraction(fields["epsilon"]), **settings)
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            if isinstance(error, DiscreetError):
                raise
            raise DiscreetError(f"{name} is not a campaign: {error}") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Campaign) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]


def domain_of(schema: Schema, asked: Input) -> int:
    """How many values an answer out of a list can have."""
    classes = len(schema.classes)
    return classes if asked.feature is None else classes * asked.feature.cells


def check_numeric(way: Any) -> None:
    """Refuse a way to report numbers that there is not."""
    ways = ("bins", *NUMBERS)
    if way not in ways:
        raise BudgetError(f"there is no way {way!r} to report numbers: choose one of {', '.join(ways)}")


@lru_cache(4096)
def mechanism_of(schema: Schema, index: int, code: int, parameter: int, epsilon: Fraction) -> Any:
    """The mechanism that a part of a report names, or an error if it does not fit the input."""
    asked = input_of(schema, index)
    if not asked.numeric:
        return ORACLES.by_code(code).of(domain_of(schema, asked), epsilon, parameter)
    kind = NUMBERS.by_code(code)
    if parameter or (asked.feature is None) != kind.at_once:
        raise DiscreetError("the report's mechanism does not fit its input")
    features: Sequence[Any] = [asked.feature] if asked.feature is not None else point_features(schema)
    return kind.of(len(schema.classes), [half_of(feature, asked.kind) for feature in features], epsilon)


def _column(feature: Any) -> dict[str, Any]:
    """How a raw value becomes a cell and a lattice point, for clients in other languages."""
    common = {"name": feature.name, "cells": feature.cells, "missing": feature.missing_code}
    if feature.kind == "categorical":
        kinds = sorted({type(value).__name__ for value in feature.categories})
        return {**common, "codes": feature.lookup.codes, "other": feature.other_code, "kinds": kinds}
    lattice = feature.lattice
    return {
        **common,
        "lower": feature.lower,
        "upper": feature.upper,
        "middle": lattice.middle,
        "inverse": lattice.inverse,
        "half": lattice.half,
        "cuts": list(feature.cuts),
    }
