"""What public declarations share: plain values, and the first complaint of a validation in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    StrictStr,
    ValidationError,
)

from discreet.errors import SchemaError
from discreet.readings import Parse
from discreet.values import same_number

Value = StrictBool | StrictInt | StrictStr
MISSING = "(missing)"
MAX_CELLS = 1 << 20
DEFAULT_BINS = 16
LIMIT = 2.0**63  # no number is farther from zero, where nobody knows better


def _plain(value: Any) -> Any:
    """A NumPy scalar as the Python value it stands for; anything else as it is."""
    return value.item() if type(value).__module__ == "numpy" and getattr(value, "ndim", 1) == 0 else value


def plains(values: Any) -> Any:
    """A list of plain Python values out of any sequence; a lone string stays one for the validator to refuse."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        return values
    return tuple(_plain(value) for value in values)


def rules(given: Any) -> Any:
    """The rules of a parse in their one order, whatever order they were written in."""
    if isinstance(given, list | tuple) and all(isinstance(one, str) for one in given):
        given = "; ".join(given)
    return str(Parse.of(given)) if isinstance(given, str) else given


# Adding zero makes -0.0 the same bound as 0.0.
Bound = Annotated[float, BeforeValidator(_plain), Field(allow_inf_nan=False), AfterValidator(lambda x: x + 0.0)]
Values = Annotated[tuple[Value, ...], BeforeValidator(plains)]


_INTERNAL = {"categorical", "numeric", "date", "constrained-int", "int"}
_MEANT = {"min": "lower", "max": "upper", "minimum": "lower", "maximum": "upper", "values": "categories",
          "levels": "categories", "column": "name", "label": "target", "labels": "classes"}  # fmt: skip


def _sentence(error: ValidationError, name: Any) -> str:
    """The first complaint of a validation error, in one sentence."""
    found = error.errors(include_url=False)
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])  # a slip in a name explains more
    message = first["msg"].removeprefix("Value error, ")
    where = f"feature {name!r}: " if name else ""
    if first["type"] == "value_error":
        return where + message if first["loc"][-1:] == ("parse",) else message
    key = ".".join(str(part) for part in first["loc"][:2] if part not in _INTERNAL)
    if first["loc"][0] in {"categories", "classes"} and len(first["loc"]) > 1:
        message = "A category or class is a text, a whole number or a truth value"
    if first["type"] == "extra_forbidden":
        meant = _MEANT.get(str(first["loc"][-1]))
        return f"{where}there is no setting {key!r}" + (f": it is called {meant!r}" if meant else "")
    if key in {"lower", "upper"} and first["input"] is None:
        return f"{where}{key} is needed: declare public bounds, as in Numeric('age', 0, 100), or bounds = 'private'"
    if key in {"categories", "classes"} and first["type"] == "tuple_type":
        return f"{where}{key} must be a list, such as ['F', 'M'], not {first['input']!r}"
    return f"{where}{key}: {message[0].lower()}{message[1:]}"


def refuse_same(values: Sequence[Any], owner: str) -> None:
    """Refuse two categories or classes that are one value in some container: True and 1, or 2**53 and 2**53 + 1."""
    same = same_number(values)
    if same is not None:
        raise ValueError(
            f"{owner} lists {same[0]!r} and {same[1]!r}, which a column of numbers cannot tell apart: "
            "keep one of them, or declare them as texts"
        )


class Public(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as error:
            raise SchemaError(_sentence(error, fields.get("name"))) from None
