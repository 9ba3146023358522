"""Generated SQL: the package's rule for numbers written for an engine, and raw categories as the engine must part them.

What engines disagree on is in one table of strings per dialect; docs/databases.md says why each of them is as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.features import Numeric

# Numbers whose double every engine finds by itself; `numeric` is a decimal without limits, `boolean` is 1 and 0.
NUMBERS = frozenset({"double", "real", "integer", "boolean", "decimal", "numeric"})
KINDS = NUMBERS | {"text"}
_EXACT = Context(prec=1100)
# From here on a decimal is nearer to no double than to an infinite one, and up to there to none but zero.
_OVER = str(2**1024 - 2**970)
_UNDER = str(_EXACT.power(Decimal(2), -1075))


class Grid(Protocol):
    """A public grid of numbers: octaves of the distance from an anchor, each in equal parts (bounds has the one)."""

    @property
    def anchor(self) -> float:
        """What distances are measured from."""

    @property
    def low(self) -> int:
        """The power of two at which the first octave begins; nearer values are in one cell."""

    @property
    def below(self) -> int:
        """How many octaves are below the anchor."""

    @property
    def above(self) -> int:
        """How many are above it."""

    @property
    def parts(self) -> int:
        """Into how many parts each is cut."""

    def count(self, values: NDArray[Any]) -> NDArray[np.int64]:
        """Rows by finest cell."""


@dataclass(frozen=True)
class Dialect:
    """What one engine writes in its own way; `{}` stands for an expression."""

    name: str
    double: str
    whole: str
    rint: str  # to the nearest whole number, ties to the even one
    binary: str  # a text of which equality is that of its bytes
    decimal: str  # the double nearest to a decimal
    added: str  # a sum that cannot wrap
    fence: str = ""  # behind a subquery whose expressions must not be copied into each of their uses
    quotes: str = '"'
    text: str = "'{}'"  # a literal, with these two in it
    backslash: str = "\\\\"
    apostrophe: str = "''"

    def quote(self, name: str) -> str:
        """An identifier."""
        return self.quotes + name.replace(self.quotes, self.quotes * 2) + self.quotes

    def literal(self, value: Any) -> str:
        """A value that a query compares with."""
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float):
            return self.number(value)
        return self.text.format(value.replace("\\", self.backslash).replace("'", self.apostrophe))

    def number(self, value: float) -> str:
        """A double, to the last bit."""
        names = {math.inf: "Infinity", -math.inf: "-Infinity"}
        return f"CAST('{'NaN' if value != value else names.get(value) or repr(float(value))}' AS {self.double})"

    def doubled(self, item: str, kind: str) -> str:
        """The double of a column, NULL where it is missing."""
        if kind == "double":
            return item
        if kind == "boolean":
            return f"CAST(CAST({item} AS integer) AS {self.double})"
        if kind == "decimal":
            return self.decimal.format(item)
        if kind == "numeric":  # whose cast is an error beyond the doubles, and between zero and the least of them
            return (
                # With so few digits behind the point it is zero, or far from what no double is near to.
                f"CASE WHEN {item} BETWEEN -1e300 AND 1e300 AND scale({item}) <= 300 THEN {self.decimal.format(item)} "
                f"WHEN {item} = 'NaN' THEN {self.number(math.nan)} "
                f"WHEN abs({item}) >= {_OVER} THEN {self.number(math.inf)} "
                f"WHEN abs({item}) <= {_UNDER} THEN {self.number(0.0)} ELSE {self.decimal.format(item)} END"
            )
        return f"CAST({item} AS {self.double})"

    def key(self, item: str, kind: str) -> str:
        """A column to group by: equal values of it are one value to the package's rule."""
        if kind == "text":
            return self.binary.format(item)
        return item if kind in {"integer", "boolean"} else self.doubled(item, kind)

    def point(self, feature: Numeric, item: str, kind: str) -> str:
        """The lattice point of a column's numbers; half + 1 stands for missing, half + 2 for infinite, as in kernels.

        First come numbers inside the bounds: NULL and NaN are not, whether an engine puts NaN behind all numbers or in
        no order. They go next, before anything is compared with them. The arithmetic is what NumPy does, operation by
        operation, all of them IEEE's: subtract, multiply, round, clip. PostgreSQL refuses a product that vanishes.
        """
        lattice, value, number = feature.lattice, self.doubled(item, kind), self.number
        half, middle, inverse = lattice.half, number(lattice.middle), number(lattice.inverse)
        rounded = self.rint.format(f"({value} - {middle}) * {inverse}")
        ends = [(bound - lattice.middle) * lattice.inverse for bound in (feature.lower, feature.upper)]
        if max(map(abs, ends)) > half:  # what lies between them is rounded to points between theirs
            rounded = f"greatest(least({rounded}, {number(half)}), {number(-half)})"
        inside = f"{value} > {number(feature.lower)} AND {value} < {number(feature.upper)}"
        small = number(-0.25 / lattice.inverse), number(0.25 / lattice.inverse)  # nearer to 0 than to any other point
        near = f"WHEN {inside} AND {value} - {middle} BETWEEN {small[0]} AND {small[1]} THEN 0 "
        infinite = f"WHEN {value} IN ({number(math.inf)}, {number(-math.inf)}) THEN {half + 2} "
        return (
            f"CASE {near if lattice.inverse < 1 else ''}WHEN {inside} THEN CAST({rounded} AS {self.whole}) "
            f"WHEN {item} IS NULL OR {value} = {number(math.nan)} THEN {half + 1} "
            f"{infinite if kind in {'double', 'real', 'numeric'} else ''}"
            f"WHEN {value} <= {number(feature.lower)} THEN {lattice.point(feature.lower)} "
            f"ELSE {lattice.point(feature.upper)} END"
        )

    def coded(self, item: str, kind: str, codes: Mapping[Any, int], unseen: int) -> str:
        """The code of a column's value among those that were seen, found by halving; `unseen` for any other."""
        key, there = self.key(item, kind), sorted((one for one in codes if one is not None), key=_order)
        literals = [self.literal(one) for one in there]
        leaves = [
            f"CASE WHEN {key} = {literal} THEN {codes[one]} ELSE {unseen} END"
            for one, literal in zip(there, literals, strict=True)
        ]
        tree = halved(key, literals[1:], leaves) if leaves else str(unseen)
        return f"CASE WHEN {item} IS NULL THEN {codes.get(None, unseen)} ELSE {tree} END"

    def distance(self, feature: Numeric, anchor: float, item: str, kind: str) -> str:
        """How far a column's numbers, clipped to their limits, are from an anchor; NaN if missing, infinite if so."""
        value, number = self.doubled(item, kind), self.number
        return (
            f"CASE WHEN {value} < {number(feature.upper)} AND {value} > {number(feature.lower)} "
            f"THEN {value} - {number(anchor)} "
            f"WHEN {item} IS NULL OR {value} = {number(math.nan)} THEN {number(math.nan)} "
            f"WHEN {value} IN ({number(math.inf)}, {number(-math.inf)}) THEN {number(math.inf)} "
            f"WHEN {value} <= {number(feature.lower)} THEN {number(feature.lower - anchor)} "
            f"ELSE {number(feature.upper - anchor)} END"
        )

    def cell(self, grid: Grid, item: str) -> str:
        """The finest cell of a distance on a grid of octaves, as `Octaves.codes` finds it; then missing and infinite.

        A distance times a power of two that brings it to 1 … 2 is exact, and so is all that follows. No logarithm is
        taken: octaves are told apart by comparisons with the powers of two.
        """
        parts, number = grid.parts, self.number
        sides = []
        for size, sign, away in ((grid.below, -1, f"-{item}"), (grid.above, 1, item)):
            powers = [one for one in range(grid.low, grid.low + size + 1) if one < 1024]
            leaves = [str(grid.below * parts)]
            for octave, power in enumerate(powers[:size], start=1):
                part = f"CAST(floor(({away} * {number(math.ldexp(1.0, -power))} - 1) * {parts}) AS {self.whole})"
                first = (grid.below + sign * octave) * parts
                leaves.append(f"{first} + {part}" if sign > 0 else f"{first + parts - 1} - {part}")
            if len(powers) > size:  # at the limit itself, or pushed beyond it by rounding
                last = (grid.below + sign * size) * parts + (parts - 1 if sign > 0 else 0)
                leaves.append(str(last if size else grid.below * parts))
            sides.append(halved(away, [number(math.ldexp(1.0, power)) for power in powers], leaves))
        cells = (grid.below + 1 + grid.above) * parts
        return (
            f"CASE WHEN {item} = {number(math.nan)} THEN {cells} WHEN {item} = {number(math.inf)} THEN {cells + 1} "
            f"WHEN {item} < 0 THEN {sides[0]} ELSE {sides[1]} END"
        )

    def among(self, item: str, kind: str, values: Sequence[Any]) -> str:
        """Whether a column holds one of some values, None among them."""
        listed = ", ".join(self.literal(value) for value in values if value is not None)
        there = f"{self.key(item, kind)} IN ({listed})" if listed else "1 = 0"
        return f"({item} IS NULL OR {there})" if None in values else f"({item} IS NOT NULL AND {there})"


def bin_of(point: str, cuts: Sequence[int]) -> str:
    """The number of cuts at or below a point."""
    return halved(point, [str(cut) for cut in cuts], [str(i) for i in range(len(cuts) + 1)])


def halved(item: str, cuts: Sequence[str], leaves: Sequence[str]) -> str:
    """The leaf whose number is that of the cuts at or below an item, by halving."""
    if not cuts:
        return leaves[0]
    middle = len(cuts) // 2
    below = halved(item, cuts[:middle], leaves[: middle + 1])
    above = halved(item, cuts[middle + 1 :], leaves[middle + 1 :])
    return f"CASE WHEN {item} < {cuts[middle]} THEN {below} ELSE {above} END"


def _order(value: Any) -> Any:
    """The order in which every engine has values of one type: texts by their bytes, NaN behind all numbers."""
    return value.encode() if isinstance(value, str) else (value != value, value)


POSTGRESQL = Dialect(
    "postgresql", "double precision", "bigint", "round({})", '{} COLLATE "C"', "CAST({} AS double precision)",
    "sum({})", fence=" OFFSET 0", text="E'{}'",
)  # fmt: skip
DUCKDB = Dialect(
    "duckdb", "DOUBLE", "BIGINT", "round_even({}, 0)", "encode({})", "CAST(CAST({} AS VARCHAR) AS DOUBLE)",
    "sum(CAST({} AS HUGEINT))", text="encode('{}')", backslash="\\",
)  # fmt: skip
SPARK = Dialect(
    "spark", "DOUBLE", "BIGINT", "rint({})", "({} COLLATE UTF8_BINARY)", "CAST({} AS DOUBLE)",
    "sum(CAST({} AS decimal(38, 0)))", quotes="`", apostrophe="\\'",
)  # fmt: skip
