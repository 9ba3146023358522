"""The tree-augmented model: Naive Bayes, and for pairs of features how far they depart from independence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from discreet.bayes.likelihoods.histogram import decode
from discreet.dependence.joint_model import DIGITS, numbers
from discreet.dependence.tree import is_forest
from discreet.errors import ModelError
from discreet.models import Floats, ReleasedModel, class_probabilities, pick
from discreet.privacy.certificate import Certificate
from discreet.schema import Schema
from discreet.sources import Progress, Rows, encode_rows


class TANModel(ReleasedModel):
    """log P(class), log P(cell | class) of each feature, and log P(a, b | class)/(P(a | class)·P(b | class)) of pairs.

    Pairs are places of features and make a forest, so with any feature of a part as its root this is the product of
    P(child | parent, class): parents and children need no names.
    """

    FORMAT = "discreet/tan"
    NAME = "a tree-augmented model"
    by_codes = True
    generative = True
    log_prior: Floats

    def __init__(
        self,
        schema: Schema,
        log_prior: Any,
        singles: Sequence[Any],
        pairs: Sequence[tuple[int, int]],
        ratios: Sequence[Any],
        certificate: Certificate,
    ) -> None:
        super().__init__(schema, certificate)
        self.log_prior = class_probabilities(schema, log_prior)
        classes, features = len(schema.classes), schema.features
        if len(singles) != len(features) or len(ratios) != len(pairs):
            raise ModelError("the tables are not those of the schema's features and pairs")
        self.singles = [
            np.round(numbers(table, (classes, feature.cells), f"the table of {feature.name!r}"), DIGITS)
            for table, feature in zip(singles, features, strict=True)
        ]
        self.pairs = [_pair(pair, len(features)) for pair in pairs]
        self.ratios = []
        if not is_forest(self.pairs):
            raise ModelError("the pairs do not make a forest")
        for (a, b), table in zip(self.pairs, ratios, strict=True):
            shape = (classes, features[a].cells, features[b].cells)
            what = f"the table of {features[a].name!r} and {features[b].name!r}"
            self.ratios.append(np.round(numbers(table, shape, what), DIGITS))

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled: alone, or together with which others."""
        found = []
        for place, name in enumerate(self.schema.names):
            others = [self.schema.names[sum(pair) - place] for pair in self.pairs if place in pair]
            found.append({"name": name, "kind": "with " + ", ".join(others) if others else "table"})
        return found

    def joint_rows(self, rows: Rows) -> Floats:
        """log P(class, features) of rows, up to a constant."""
        codes = encode_rows(rows).T.astype(np.int64)
        scores: Floats = np.tile(self.log_prior, (rows.size, 1))
        for code, single in zip(codes, self.singles, strict=True):
            scores += np.ascontiguousarray(single.T)[code]
        for (a, b), ratio in zip(self.pairs, self.ratios, strict=True):
            flat = np.ascontiguousarray(ratio.reshape(len(ratio), -1).T)
            scores += flat[codes[a] * ratio.shape[2] + codes[b]]
        return scores

    def _draw(self, size: int, rng: np.random.Generator) -> dict[str, list[Any]]:
        """Class first, then each part of the forest from a root on: P(child | parent, class)."""
        groups = self._draw_classes(size, rng)
        codes: dict[int, Any] = {}
        for root in range(len(self.singles)):
            waiting: list[tuple[int, int, int | None]] = [] if root in codes else [(root, -1, None)]
            while waiting:
                place, parent, edge = waiting.pop()
                logs = self.singles[place][groups]
                if edge is not None:
                    ratio, (a, _) = self.ratios[edge], self.pairs[edge]
                    logs = logs + (ratio if a == parent else ratio.transpose(0, 2, 1))[groups, codes[parent]]
                codes[place] = pick(np.exp(logs - logs.max(axis=1, keepdims=True)), rng.random(size))
                near = [(sum(pair) - place, spot) for spot, pair in enumerate(self.pairs) if place in pair]
                waiting += [(child, place, spot) for child, spot in near if child not in codes]
        columns = {f.name: decode(f, codes[j], rng) for j, f in enumerate(self.schema.features)}
        return {**columns, self.schema.target: [self.schema.classes[group] for group in groups]}

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> TANModel:
        """A tree-augmented model of the same cells without noise, its pairs chosen anew: never for release."""
        from discreet.dependence.tan import PrivateTAN

        return PrivateTAN(math.inf, self.schema).fit(data, y, progress=progress).model_

    def _fields(self) -> dict[str, Any]:
        return {
            "features": [table.tolist() for table in self.singles],
            "pairs": [
                {"first": self.schema.names[a], "second": self.schema.names[b], "log_ratio": table.tolist()}
                for (a, b), table in zip(self.pairs, self.ratios, strict=True)
            ],
        }

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> Self:
        place = {name: spot for spot, name in enumerate(schema.names)}
        given = fields["pairs"]
        if not all(one["first"] in place and one["second"] in place for one in given):
            raise ModelError("a pair names a feature that the schema does not have")
        pairs = [(place[one["first"]], place[one["second"]]) for one in given]
        ratios = [one["log_ratio"] for one in given]
        return cls(schema, fields["log_prior"], fields["features"], pairs, ratios, certificate)

    def __repr__(self) -> str:
        return f"<TANModel: {len(self.singles)} features, {len(self.pairs)} pairs, {len(self.log_prior)} classes>"


def _pair(pair: Any, features: int) -> tuple[int, int]:
    a, b = (int(place) for place in pair)
    if not (0 <= a < features and 0 <= b < features and a != b):
        raise ModelError("a pair names a feature that the schema does not have")
    return a, b
