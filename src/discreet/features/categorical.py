"""A feature with a declared list of categories."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import Field, StrictStr, model_validator

from discreet.domain import Lookup, text
from discreet.features.base import MAX_CELLS, MISSING, Public, Values, refuse_same
from discreet.readings import PARTS, DateParts, Patterns, date_format


class Categorical(Public):
    """A feature with a declared list of categories.

    `other` names a bucket for every undeclared value; without it such a value is an error. With `match="pattern"`
    categories are patterns (`E1*`, `?9`, `[A-C]*`), and a value is the first that it fits. With `transform="weekday"`
    or `"month"` the categories are those of dates, which texts write in ISO 8601 or in the `format`.

    >>> Categorical("colour", ["red", "green"], other="another").labels
    ('red', 'green', 'another')
    """

    kind: Literal["categorical"] = "categorical"
    name: StrictStr = Field(min_length=1)
    categories: Values = Field(min_length=1)
    other: StrictStr | None = None
    missing: Literal["error", "category"] = "error"
    match: Literal["pattern"] | None = None
    transform: Literal["weekday", "month"] | None = None
    format: StrictStr | None = None

    def __init__(
        self,
        name: str = "",
        categories: Sequence[Any] = (),
        other: str | None = None,
        missing: str = "error",
        **fields: Any,
    ) -> None:
        if isinstance(categories, Sequence) and not categories:
            categories = PARTS.get(str(fields.get("transform")), categories)
        super().__init__(name=name, categories=categories, other=other, missing=missing, **fields)

    @model_validator(mode="after")
    def _check(self) -> Self:
        seen = [text(value) for value in self.categories] + ([self.other] if self.other is not None else [])
        if len(set(seen)) != len(seen):
            twice = next(label for label, count in Counter(seen).items() if count > 1)
            raise ValueError(f"feature {self.name!r} lists the category {twice!r} twice")
        refuse_same(self.categories, f"feature {self.name!r}")
        if self.cells > MAX_CELLS:
            raise ValueError(f"feature {self.name!r} has more than {MAX_CELLS} categories")
        if self.transform is not None and (self.match or self.categories != PARTS[self.transform]):
            listed = ", ".join(PARTS[self.transform][:2])
            raise ValueError(
                f"feature {self.name!r}: the categories of a {self.transform} are {listed}, …; leave them out"
            )
        if self.format is not None and self.transform is None:
            raise ValueError(f"feature {self.name!r}: a format is for dates, with transform = 'weekday' or 'month'")
        try:
            date_format(self.format)
            if self.match:
                Patterns(self.categories)
        except (ValueError, re.error) as error:
            raise ValueError(f"feature {self.name!r}: {error}") from None
        return self

    @property
    def plain(self) -> bool:
        """Whether categories are listed value by value, so that any reader of the schema can code them."""
        return self.match is None and self.transform is None

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """What each cell of the count table stands for."""
        extra = (self.other,) if self.other is not None else ()
        gone = (MISSING,) if self.missing == "category" else ()
        return (*(text(value) for value in self.categories), *extra, *gone)

    @property
    def cells(self) -> int:
        """The number of cells in this feature's count table."""
        return len(self.categories) + (self.other is not None) + (self.missing == "category")

    @property
    def other_code(self) -> int | None:
        """The cell of undeclared values, if there is one."""
        return None if self.other is None else len(self.categories)

    @property
    def missing_code(self) -> int | None:
        """The cell of missing values, if they have one."""
        return self.cells - 1 if self.missing == "category" else None

    @cached_property
    def lookup(self) -> Lookup:
        """Value → cell, whatever type a source delivers the value in."""
        if self.transform is not None:
            return DateParts(self.transform, self.format, self.other)
        return Patterns(self.categories, self.other) if self.match else Lookup(self.categories, self.other)
