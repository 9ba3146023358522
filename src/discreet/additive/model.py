"""The model: released shapes of features and pairs with their certificate; it never saw a training row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.bands import checked_noise, variances
from discreet.additive.blocks import Blocks, Level, check_blocks
from discreet.errors import ModelError
from discreet.linear.encode import UNIT
from discreet.linear.kernels import loops
from discreet.linear.model import LEAST, released_weights
from discreet.models import Floats, ReleasedModel, beside, normalised
from discreet.privacy.certificate import Certificate
from discreet.schema import Numeric, Schema
from discreet.sources import Progress, Rows, hold_rows


class AdditiveModel(ReleasedModel):
    """log-odds = constant + Σ shape of each feature + Σ table of each pair; classes in the schema's order.

    `weights` has one row per class, or one row (the log-odds of the second class) if there are two; its columns are
    those of `blocks`, the constant last.
    """

    FORMAT = "discreet/additive"
    NAME = "an additive model"
    by_codes = True
    bands = LEAST

    def __init__(
        self, blocks: Blocks, weights: Any, certificate: Certificate, noise: Sequence[dict[str, Any]] = ()
    ) -> None:
        super().__init__(blocks.schema, certificate)
        self.blocks, self.separable = blocks, not blocks.pairs
        try:
            check_blocks(blocks)
        except ValueError as error:
            raise ModelError(str(error)) from None
        self.weights = released_weights(self.schema, weights, blocks.columns)
        self.noise = checked_noise(blocks, noise)

    @property
    def kinds(self) -> list[dict[str, str]]:
        """Each feature and how it is modelled."""
        shaped = set(self.blocks.singles)
        kinds = []
        for j, (feature, knots) in enumerate(zip(self.schema.features, self.blocks.knots, strict=True)):
            kind = f"a line through {len(knots)} knots" if knots is not None else f"{feature.cells} cells"
            paired = sum(j in pair for pair in self.blocks.pairs)
            if any(one.feature == j for one in self.blocks.levels):
                kind += " and levels"
            if j not in shaped:
                kind = "none"
            kinds.append({"name": feature.name, "kind": kind + (f", in {paired} pair(s)" if paired else "")})
        return kinds

    def shape(self, name: str) -> dict[str, Any]:
        """The released shape of a feature: the values at its knots or cells, one row per class, and where they are.

        A number with levels has those too: the values of their cells, which are added, and where each cell begins.
        """
        try:
            j = self.schema.names.index(name)
            block = self.blocks.singles.index(j)
        except ValueError:
            raise ModelError(f"the model has no shape of a feature {name!r}") from None
        start, stop = self.blocks.starts[block : block + 2]
        feature, knots = self.schema.features[j], self.blocks.knots[j]
        where: list[Any] = list(feature.labels)
        if knots is not None:
            where = [feature.value_at(feature.lattice.value(k)) for k in knots]  # type: ignore[union-attr]
            where += [feature.labels[-1]] * (feature.missing_code is not None)
        levels = self._levels(j)
        return {"at": where, "values": self.weights[:, start:stop].copy(), **({"levels": levels} if levels else {})}

    def _levels(self, j: int) -> list[dict[str, Any]]:
        found = []
        for level, columns in self.blocks.level_columns(j):
            feature: Any = self.schema.features[j]
            begins = [feature.value_at(place) for place in (feature.lower, *map(feature.lattice.value, level.cuts))]
            begins += [feature.labels[-1]] * (feature.missing_code is not None)
            found.append({"from": begins, "values": self.weights[:, columns]})
        return found

    def parts_of(self, feature: Numeric) -> Sequence[int]:
        """Gaps between knots, which lie close together where rows do if a look at the numbers was paid for."""
        knots = self.blocks.knots[self.schema.features.index(feature)]
        return super().parts_of(feature) if knots is None else knots

    # ---- prediction

    def margins(self, rows: Rows) -> Floats:
        """Scores of rows as a source delivers them, one column per row of weights."""
        codes, values = self.blocks.encode(hold_rows(rows))
        out = np.empty((len(self.weights), rows.size))
        for weights, line in zip(self.weights, out, strict=True):
            loops(codes).margins(codes, values, weights / UNIT, line)
        return np.ascontiguousarray(out.T)

    def joint_rows(self, rows: Rows) -> Floats:
        """log P(class | features) of rows, which differs from the joint one by a constant of the row."""
        margins = self.margins(rows)
        if margins.shape[1] == 1:
            return np.asarray(-np.logaddexp(0.0, np.concatenate([margins, -margins], axis=1)))
        return normalised(margins)

    score_rows = joint_rows

    def parts(self, rows: Rows) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """The columns that each row fills, the constant left out, and how much of each."""
        if not self.noise:
            return None
        codes, values = self.blocks.encode(hold_rows(rows))
        return codes, values[:, :-1] / UNIT

    def spread(self, mixes: Any) -> Floats:
        """The variance of mixes of weights by the noise of all fits, as if no row held them in their places."""
        own = sum((variances(self.blocks, one, mixes) for one in self.noise), np.zeros(mixes.shape[0]))
        return beside(np.repeat(own[:, None], len(self.weights), axis=1))

    def twin(self, data: Any, y: Any = None, progress: Progress | None = None) -> AdditiveModel:
        """The same blocks fitted without noise: for comparison, never for release."""
        from discreet.additive.classifier import twin_of

        return twin_of(self, data, y, progress=progress)

    # ---- files

    def _fields(self) -> dict[str, Any]:
        return {
            "knots": [None if knots is None else list(knots) for knots in self.blocks.knots],
            "pairs": [list(pair) for pair in self.blocks.pairs],
            **({"levels": [_written(one) for one in self.blocks.levels]} if self.blocks.levels else {}),
            "weights": self.weights.tolist(),
            **({"noise": list(self.noise)} if self.noise else {}),
        }

    @classmethod
    def _build(cls, schema: Schema, fields: dict[str, Any], certificate: Certificate) -> AdditiveModel:
        knots = tuple(None if one is None else tuple(one) for one in fields["knots"])
        levels = tuple(
            Level(one["feature"], tuple(one["cuts"]), tuple(one["columns"])) for one in fields.get("levels", ())
        )
        pairs = tuple(tuple(pair) for pair in fields["pairs"])
        return cls(Blocks(schema, knots, pairs, levels), fields["weights"], certificate, fields.get("noise", ()))

    def __repr__(self) -> str:
        blocks, classes = len(self.blocks.sizes), len(self.schema.classes)
        return f"<AdditiveModel: {blocks} blocks, {self.blocks.columns} columns, {classes} classes>"


def _written(level: Level) -> dict[str, Any]:
    return {"feature": level.feature, "cuts": list(level.cuts), "columns": list(level.columns)}
