"""Counts the hops of a fit, or of a masked round, to the model, and how often rows are read: `python -m tests.walks`.

A **walk** is what a reader follows who asks where each step of the road is taken: the calls that lead from `fit` to
its landmarks (LANDMARKS: where the schema is known, the plan made, the budget charged, rows handed out, coded and
counted, noise drawn, parameters estimated, the guarantee certified, the model built). At each landmark the call stack
is taken down, and a **hop** is one call in such a stack from a function of discreet into another one. A call that is
repeated, or that several landmarks share, is one hop. Layers that only pass on are hops too. What a landmark calls to
do its work is not followed, nor are helpers beside the way, kernels, comprehensions, and what generated code or
another library calls in between.

A **masked round** is walked from the coordinator's `conduct` to the model. Messages go from hand to hand within one
thread instead of over a network, so that a hop also leads from the coordinator, who asks, to the site, which answers.

A **reading** is one pass over the rows: of a stream's `batches`, or of the `rows` of an array or a frame in memory.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np

import discreet
from discreet import Budget, Categorical, Ledger, Numeric, PrivateClassifier, PrivateNB, Schema

ROOT = str(Path(discreet.__file__).parent)
# Step of the road → the functions that take it: names, or the ends of qualified ones.
LANDMARKS = {
    "check": ("_public_schema",),
    "plan": ("make_plan",),
    "charge": ("Ledger.charge", "Journal._charge"),
    "read": ("batches", "make_column", "tally"),
    "release": ("Sampler.laplace", "Sampler.gaussian", "Sampler.tables", "Shares.laplace", "Shares.skellam"),
    "estimate": ("estimate",),
    "certify": ("certify",),
    "model": ("Model.__init__",),
}
SCHEMA = Schema(
    [Categorical("smoker", ["never", "former", "current"]), Numeric("age", 0, 110, bins=8)], "ill", ["no", "yes"]
)
PASSES = ("batches", "Memory.rows")
HOPS = 25  # the most that a fit to a CSV file may take
SITES = ("a", "b", "c")  # of the masked round
MASKED = "masked federated round, CSV file at each site"


@dataclass
class Walk:
    """The hops of a fit, each with the landmarks it leads to, and the readings of its rows, of all sites together."""

    hops: dict[tuple[CodeType, CodeType], list[str]]
    readings: int
    sites: int = 1

    @property
    def files(self) -> set[str]:
        """The files it goes through."""
        return {place(code) for pair in self.hops for code in pair}

    def table(self) -> str:
        """The walk as Markdown: a line for each hop, deeper ones further in."""
        depth: dict[CodeType, int] = {}
        lines = []
        for (caller, callee), steps in self.hops.items():
            depth.setdefault(callee, depth.get(caller, 0) + 1)
            name = "  " * depth[callee] + callee.co_qualname
            lines.append(f"{name:<44} {place(callee):<28} {', '.join(steps)}".rstrip())
        return "\n".join(lines)


def place(code: CodeType) -> str:
    """The file of a function, within the package."""
    return Path(code.co_filename).relative_to(ROOT).as_posix()


def is_one(code: CodeType, names: tuple[str, ...]) -> bool:
    """Whether a function has one of these names, or a qualified name that ends in one."""
    return any(code.co_qualname.endswith(name) if "." in name else code.co_name == name for name in names)


def landmark(code: CodeType) -> str | None:
    """The step of the road that a function takes."""
    return next((step for step, names in LANDMARKS.items() if is_one(code, names)), None)


def walked(fit: Callable[[], Any]) -> Walk:
    """The walk of a fit, which is run in this thread."""
    hops: dict[tuple[CodeType, CodeType], list[str]] = {}
    passes: dict[int, FrameType] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "call" or not ours(code):
            return
        step = landmark(code)
        if step is None and not is_one(code, PASSES):
            return
        stack = [one for one in callers(frame) if ours(one.f_code)]
        if is_one(code, PASSES) and not any(is_one(one.f_code, PASSES) for one in stack[1:]):
            passes[id(frame)] = frame  # a generator is resumed for each batch; its frame stays the same
        if step is None or any(landmark(one.f_code) == step for one in stack[1:]):
            return
        for caller, callee in pairwise(reversed(stack)):
            steps = hops.setdefault((caller.f_code, callee.f_code), [])
            if callee is frame and step not in steps:
                steps.append(step)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        fit()
    finally:
        sys.setprofile(before)
    return Walk(hops, len(passes))


def ours(code: CodeType) -> bool:
    """Whether a reader would follow a call of it: a function of discreet with a name."""
    return code.co_filename.startswith(ROOT) and not code.co_name.startswith("<")


def callers(frame: FrameType) -> list[FrameType]:
    """The frame and those below it, innermost first."""
    found: list[FrameType] = []
    while frame is not None:
        found.append(frame)
        frame = frame.f_back  # type: ignore[assignment]
    return found


def made_up(rows: int = 2_000) -> tuple[list[tuple[str, float]], list[str]]:
    """Rows and labels of the schema."""
    rng = np.random.default_rng(0)
    ill = rng.integers(0, 2, rows)
    ages = np.clip(rng.normal(45 + 15 * ill, 15), 0, 110).round(1)
    smokers = rng.choice(["never", "former", "current"], rows)
    return list(zip(smokers.tolist(), ages.tolist(), strict=True)), np.array(["no", "yes"])[ill].tolist()


def walks() -> dict[str, Walk]:
    """The walks that are measured, each the second of its kind: what is compiled or imported once is no part of it."""
    rows, labels = made_up()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        write_rows(path, rows, labels)
        X = np.array(rows, dtype=object)
        found = {}
        for name, kind, data in (
            ("PrivateNB, CSV file", PrivateNB, (str(path),)),
            ("PrivateClassifier, CSV file", PrivateClassifier, (str(path),)),
            ("PrivateClassifier, array", PrivateClassifier, (X, labels)),
        ):
            kind(1.0, schema=SCHEMA).fit(*data)
            ledger = Ledger(Budget(1))
            found[name] = walked(lambda k=kind, d=data, p=ledger: k(1.0, schema=SCHEMA).fit(*d, ledger=p))  # type: ignore[misc]
        found[MASKED] = masked(Path(folder))
        return found


def write_rows(path: Path, rows: list[tuple[str, float]], labels: list[str]) -> None:
    """A CSV file of rows and labels."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*SCHEMA.names, SCHEMA.target])
        writer.writerows((*row, label) for row, label in zip(rows, labels, strict=True))


def masked(place: Path) -> Walk:
    """The walk of a round under masks, the second one of a coordinator and sites that hold a part of the rows each."""
    from discreet.federated.flower import keep_quiet

    keep_quiet(place / "flower")
    from discreet.federated.flower.answers import AnsweringSite, FederatedTerms, SecureTerms
    from discreet.federated.flower.client import make_app
    from discreet.federated.flower.keys import make_keys
    from discreet.federated.flower.server import conduct
    from discreet.federated.flower.task import RoundTask
    from discreet.nodes.settings import node_plan
    from tests.federated.flower.local import LocalGrid

    SCHEMA.save(place / "schema.json")
    keys = make_keys(place / "keys", SITES).directory
    sites = {}
    for i, name in enumerate(SITES):
        rows, labels = made_up()
        write_rows(place / f"{name}.csv", rows[i :: len(SITES)], labels[i :: len(SITES)])
        terms = FederatedTerms(
            name, str(place / f"{name}.csv"), SCHEMA, Budget(1), Budget(2), place / f"{name}.ledger",
            secure=SecureTerms.of(keys, name, 1, 0),
        )  # fmt: skip
        sites[name] = AnsweringSite(terms)
    task = RoundTask(
        str(place / "schema.json"), str(place / "model.json"), len(SITES), secure=True, keys=str(keys), epsilon=1.0
    )

    def run() -> None:
        node_plan.cache_clear()  # each round is planned anew
        conduct(LocalGrid({name: make_app(site) for name, site in sites.items()}), task, lambda *event: None)

    run()
    walk = walked(run)
    for site in sites.values():
        site.close()
    return Walk(walk.hops, walk.readings, len(sites))


def main() -> None:
    """Print the walks."""
    for name, walk in walks().items():
        print(f"{name}: {len(walk.hops)} hops through {len(walk.files)} files, rows read {walk.readings} ×")
        print(walk.table(), end="\n\n")


if __name__ == "__main__":
    main()
