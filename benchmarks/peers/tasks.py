"""What is to be measured and what has been: tasks, the methods that they name, and the journal of results."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from discreet.errors import DataError

OURS = {
    "nb": "PrivateNB",
    "logistic": "PrivateLogisticRegression",
    "auto": "PrivateClassifier",
    "auto-delta": "PrivateClassifier",
}
PEERS = ("dp-ebm", "aim", "diffprivlib")
DIFFPRIVLIB = ("bayes", "bayes-ordinal", "logistic", "forest", "forest-ordinal")
SMALL = 250_000  # values
FAMILY: dict[str, str] = {
    **dict.fromkeys(OURS, "discreet"),
    **dict.fromkeys(
        (f"sklearn/{kind}" for kind in ("majority", "bayes", "bayes-bell", "logistic", "boosting")), "scikit_learn"
    ),
    **dict.fromkeys((f"diffprivlib/{kind}" for kind in DIFFPRIVLIB), "diffprivlib"),
    "dp-ebm": "interpret",
    "aim": "dpmm",
}
FEWER_SEEDS = {"aim": 3}
SECONDS = {"aim": 300}  # after which a fit is given up, where that is sooner than for the others


@dataclass(frozen=True)
class Entry:
    """What the manifest says about a data set as a whole."""

    name: str
    title: str
    checksum: str
    rows: int
    train: int
    features: int
    numbers: int
    most_categories: int
    classes: int
    fixed: bool

    @property
    def seeds(self) -> int:
        """Ten where fits are quick and few rows to test on make the figures uncertain, else five."""
        return 10 if self.rows * self.features <= SMALL else 5

    def facts(self) -> dict[str, Any]:
        """What a reader of the results needs to know of it."""
        fields = asdict(self)
        return {name: fields[name] for name in ("title", "rows", "train", "features", "classes", "fixed")}


@dataclass(frozen=True)
class Task:
    """One fit: a method at one ε on the split of one seed, of known data and a known edition of the method."""

    data: str
    checksum: str
    method: str
    edition: str
    epsilon: float
    seed: int

    @property
    def family(self) -> str:
        """The environment that the method lives in."""
        return FAMILY[self.method]

    def columns(self) -> dict[str, Any]:
        """The task as the first fields of its line in the journal; an infinite ε is null."""
        return {
            "data": self.data,
            "method": self.method,
            "epsilon": None if math.isinf(self.epsilon) else self.epsilon,
            "seed": self.seed,
            "edition": self.edition,
            "checksum": self.checksum,
        }

    @classmethod
    def of(cls, row: dict[str, Any]) -> Task:
        """The task that a line of the journal answers."""
        epsilon = math.inf if row["epsilon"] is None else float(row["epsilon"])
        return cls(row["data"], row["checksum"], row["method"], row["edition"], epsilon, int(row["seed"]))


def seconds(method: str, limit: int) -> int:
    """After how long a fit of a method is given up."""
    return min(limit, SECONDS.get(method, limit))


def chosen(names: Iterable[str]) -> list[str]:
    """Methods by name or by the part before the slash; nothing means all."""
    wanted = list(names) or list(FAMILY)
    unknown = [name for name in wanted if not any(name in (m, m.split("/")[0]) for m in FAMILY)]
    if unknown:
        known = dict.fromkeys(m.split("/")[0] for m in FAMILY)
        raise DataError(f"there is no method {unknown[0]!r}; there are {', '.join(known)}")
    return [m for m in FAMILY if any(name in (m, m.split("/")[0]) for name in wanted)]


def applies(method: str, entry: Entry) -> bool:
    """Whether a method can be measured on such data and is not the same there as another one."""
    if method == "dp-ebm":
        return entry.classes == 2
    if method.endswith("-ordinal"):
        return entry.most_categories > 2
    return entry.numbers > 0 or method != "sklearn/bayes-bell"


def tasks_for(
    name: str,
    entry: Entry,
    methods: Sequence[str],
    editions: Mapping[str, str],
    epsilons: Sequence[float],
    seeds: int | None = None,
) -> Iterator[Task]:
    """All fits on one data set; methods without privacy once per split."""
    for seed in range(seeds or entry.seeds):
        for method in methods:
            private = FAMILY[method] != "scikit_learn"
            enough = FEWER_SEEDS.get(method, seed + 1) if private else 1 if entry.fixed else seed + 1
            if not applies(method, entry) or seed >= enough:
                continue
            for epsilon in epsilons if private else (math.inf,):
                yield Task(name, entry.checksum, method, editions[FAMILY[method]], epsilon, seed)


class Journal:
    """Results as lines of JSON, appended as they come: a run that was cut off goes on where it stopped."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Task, dict[str, Any]] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text and not text.endswith("\n"):  # the last line was cut off: what follows must start a new one
            text = text[: text.rfind("\n") + 1]
            path.write_text(text, encoding="utf-8")
        for line in text.splitlines():
            row = json.loads(line)
            self.rows[Task.of(row)] = row

    def add(self, row: dict[str, Any]) -> None:
        """Keep a result at once."""
        self.rows[Task.of(row)] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def done(self, task: Task, limit: int) -> bool:
        """Whether there is nothing to run: there are figures, or it took longer than the limit allows now."""
        row = self.rows.get(task)
        if row is None:
            return False
        late = (row["error"] or "").startswith("TimeoutError") and row.get("limit", 0) >= seconds(task.method, limit)
        return row["error"] is None or late

    def known(self, task: Task) -> Task:
        """The task itself or, if it has no figures, the same of the latest edition that has."""
        if task not in self.rows or self.rows[task]["error"] is not None:
            for other, row in reversed(self.rows.items()):
                if row["error"] is None and replace(other, edition=task.edition) == task:
                    return other
        return task
