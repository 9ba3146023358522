"""Turns what a mechanism returns, of any shape, into rows of doubles without losing a bit."""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import numbers
import random
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from discreet.errors import AuditError

Rows = NDArray[np.float64]

UNSEEN = "parts never seen while probing"
_EXACT = 2**53


@runtime_checkable
class Sampler(Protocol):
    """A mechanism that can be run many times at once.

    All randomness comes from `rng` or from the operating system: a generator the object holds would be
    copied into every worker process, and equal draws in two workers are not independent samples.
    """

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> NDArray[Any]:
        """Return `size` independent outputs on `data`, one per row."""


def flatten(output: Any) -> dict[str, float]:
    """Name every number inside an output; text becomes a hash, so equal text stays equal.

    >>> flatten({"mean": [1.5, 2], "n": 3})
    {"['mean'] length": 2.0, "['mean'][0]": 1.5, "['mean'][1]": 2.0, "['n']": 3.0}
    """
    return dict(_parts("", output))


def _parts(path: str, value: Any) -> Iterator[tuple[str, float]]:
    if value is None:
        yield path + " is None", 1.0
    elif isinstance(value, bool | np.bool_ | float | np.floating):
        yield path, float(value)
    elif isinstance(value, int | np.integer):
        yield path, float(value)
        if abs(int(value)) >= _EXACT:
            # Beyond 2**53 a double drops low bits, and those may be the ones that leak.
            yield path + " mod 2**32", float(int(value) % 2**32)
    elif isinstance(value, str | bytes):
        yield path, text_code(value)
    elif isinstance(value, complex | np.complexfloating):
        yield path + ".real", float(value.real)
        yield path + ".imag", float(value.imag)
    elif isinstance(value, np.ndarray):
        yield from _array_parts(path, value)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from _parts(f"{path}.{field.name}", getattr(value, field.name))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _parts(f"{path}[{key!r}]", item)
    elif isinstance(value, Set):
        for item in value:
            yield f"{path} contains {item!r}", 1.0
    elif isinstance(value, Sequence):
        yield f"{path} length", float(len(value))
        for index, item in enumerate(value):
            yield from _parts(f"{path}[{index}]", item)
    elif isinstance(value, numbers.Number):
        yield path, float(value)  # type: ignore[arg-type]
        yield path + " as text", text_code(str(value))
    elif hasattr(value, "to_numpy"):
        yield from _array_parts(path, np.asarray(value.to_numpy()))
    else:
        raise AuditError(
            f"An audit cannot read an output of type {type(value).__name__}; "
            "return numbers, text, arrays, lists or dicts of these, such as the model's parameters."
        )


def _array_parts(path: str, value: NDArray[Any]) -> Iterator[tuple[str, float]]:
    if value.ndim:
        yield from ((f"{path} size of axis {axis}", float(size)) for axis, size in enumerate(value.shape))
    for index in np.ndindex(value.shape):
        label = "".join(f"[{i}]" for i in index)
        yield from _parts(path + label, value[index].item() if value.dtype != object else value[index])


def text_code(text: str | bytes) -> float:
    """Map text to a whole number below 2**53 that is the same in every process."""
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    return float(int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "big") >> 11)


class CallableSampler:
    """Runs a plain function once per row and lays its outputs out in fixed columns.

    The columns come from probe runs that are thrown away. What an output lacks is NaN, and the number of
    parts that no probe showed has a column of its own, so a rare new class is an event like any other.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Wrap `function(data)`, or `function(data, rng=...)` if it has a parameter of that name."""
        self.function = function
        self.names: tuple[str, ...] = ()
        try:
            self.takes_rng = "rng" in inspect.signature(function).parameters
        except (TypeError, ValueError):
            self.takes_rng = False

    def probe(self, data_sets: Sequence[Any], runs: int, *, rng: np.random.Generator) -> None:
        """Fix the columns by looking at a few outputs on every data set."""
        seen: set[str] = set()
        for data in data_sets:
            for output in self._outputs(data, runs, rng):
                seen.update(output)
        self.names = (*sorted(seen), UNSEEN)

    def sample(self, data: Any, size: int, *, rng: np.random.Generator) -> Rows:
        """Return one row per run."""
        column = {name: index for index, name in enumerate(self.names)}
        rows = np.full((size, len(self.names)), np.nan)
        rows[:, -1] = 0.0
        for row, output in zip(rows, self._outputs(data, size, rng), strict=True):
            for name, value in output.items():
                index = column.get(name)
                if index is None:
                    row[-1] += 1.0
                else:
                    row[index] = value
        return rows

    def _outputs(self, data: Any, size: int, rng: np.random.Generator) -> Iterator[dict[str, float]]:
        if self.takes_rng:
            for _ in range(size):
                yield flatten(self.function(data, rng=rng))
            return
        # Worker processes inherit the state of the global generators: unless each batch is seeded
        # afresh, all workers would draw the same noise. The caller's own streams are put back.
        before = np.random.get_state(), random.getstate()
        np.random.seed(rng.integers(0, 2**32, size=8, dtype=np.uint32))
        random.seed(int(rng.integers(0, 2**63)))
        try:
            outputs = [flatten(self.function(data)) for _ in range(size)]
        finally:
            np.random.set_state(before[0])
            random.setstate(before[1])
        yield from outputs


def as_rows(values: NDArray[Any], size: int) -> Rows:
    """Check a sampler's answer and give it two axes."""
    rows = np.asarray(values)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.shape[0] != size or rows.shape[1] == 0:
        raise AuditError(f"sample(data, {size}) must return {size} rows of numbers; got shape {rows.shape}.")
    if rows.dtype.kind in "iu":
        big = np.abs(rows.astype(np.float64)) >= _EXACT
        if big.any():
            raise AuditError("Whole numbers of 2**53 or more lose bits as doubles; use two columns.")
    return np.ascontiguousarray(rows, dtype=np.float64)
