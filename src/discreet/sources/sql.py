"""Generated SQL: the package's rule for numbers written for an engine, and raw categories as the engine must part them.

What engines disagree on is in one table of strings per dialect; docs/databases.md says why each of them is as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from discreet.features import Numeric

# Numbers whose double every engine finds by itself; `numeric` is a decimal without limits, `boolean` is 1 and 0.
NUMBERS = frozenset({"double", "real", "integer", "boolean", "decimal", "numeric"})
KINDS = NUMBERS | {"text"}
TINY = 1e-290
_EXACT = Context(prec=1100)
# From here on a decimal is nearer to no double than to an infinite one, and up to there to none but zero.
_OVER = str(2**1024 - 2**970)
_UNDER = str(_EXACT.power(Decimal(2), -1075))


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
                f"CASE WHEN {item} = 'NaN' THEN {self.number(math.nan)} "
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
        near = f"WHEN {inside} AND {value} - {middle} BETWEEN {number(-TINY)} AND {number(TINY)} THEN 0 "
        infinite = f"WHEN {value} IN ({number(math.inf)}, {number(-math.inf)}) THEN {half + 2} "
        return (
            f"CASE {near if lattice.inverse < 1 else ''}WHEN {inside} THEN CAST({rounded} AS {self.whole}) "
            f"WHEN {item} IS NULL OR {value} = {number(math.nan)} THEN {half + 1} "
            f"{infinite if kind in {'double', 'real', 'numeric'} else ''}"
            f"WHEN {value} <= {number(feature.lower)} THEN {lattice.point(feature.lower)} "
            f"ELSE {lattice.point(feature.upper)} END"
        )

    def among(self, item: str, kind: str, values: Sequence[Any]) -> str:
        """Whether a column holds one of some values, None among them."""
        listed = ", ".join(self.literal(value) for value in values if value is not None)
        there = f"{self.key(item, kind)} IN ({listed})" if listed else "1 = 0"
        return f"({item} IS NULL OR {there})" if None in values else f"({item} IS NOT NULL AND {there})"


def bin_of(point: str, cuts: Sequence[int], first: int = 0) -> str:
    """The number of cuts at or below a point, by halving."""
    if not cuts:
        return str(first)
    middle = len(cuts) // 2
    below, above = bin_of(point, cuts[:middle], first), bin_of(point, cuts[middle + 1 :], first + middle + 1)
    return f"CASE WHEN {point} < {cuts[middle]} THEN {below} ELSE {above} END"


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
