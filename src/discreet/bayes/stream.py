"""A stream: exact integers of the steps that are still needed and the noisy sums so far, in memory or in a file.

What was drawn once is kept and never drawn again: two noisy copies of one sum would say more than the budget allows.
So a stream has one life: a copy of it cannot go on, a file is locked while a step is taken, and is written, with its
new noise, before anything that follows from it is released.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.items import Plan
from discreet.bayes.release import Release, exact_bundles, noised, samplers_of
from discreet.errors import BudgetError, ModelError, StatisticsError
from discreet.files import parse_json, write_bytes
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.running import combined, mean_square
from discreet.privacy.payer import OneLife
from discreet.statistics import Statistics

Key = tuple[str, str]
MAGIC = b"discreet stream 1\n"
LOST = (
    "{}: there is no stream here, and one that was lost cannot be gone on with, because its noise cannot be drawn "
    "again: start a new one, at a second charge"
)


@dataclass
class Stream(OneLife):
    """The steps of one stream so far. `exact` is as private as the rows; `noisy` may be published.

    `trusts` is what the certificate takes on trust of the sources of all steps; the plan is the same at each, without.
    """

    plan: Plan
    step: int = 0
    exact: list[dict[Key, NDArray[np.int64]]] = field(default_factory=list, repr=False)
    noisy: list[dict[Key, NDArray[Any]]] = field(default_factory=list, repr=False)
    samplers: tuple[str, ...] = ()
    simulation: bool = False
    trusts: tuple[str, ...] = ()

    def check_open(self) -> None:
        """Refuse a step after the last one."""
        assert self.plan.stream is not None
        if self.step >= self.plan.stream.steps:
            raise BudgetError(
                f"the stream's {self.plan.stream.steps} steps are over, and its budget with them: start a new stream "
                "with the rows to come, or with all of them, at a charge of its own"
            )

    def add(self, statistics: Statistics, sampler: Sampler, trusts: tuple[str, ...] = ()) -> None:
        """Take one step: count its rows in, on trust where they were counted, and noise every sum that ends with it."""
        self.check_open()
        if statistics.schema != self.plan.schema:
            raise StatisticsError("the statistics are of another schema than the plan")
        step, exact, drawn = self.step + 1, self._with(statistics), []
        for sums in self._sums(exact, step):
            released = [
                noised({key: values[group] for key, values in sums.items()}, self.plan, sampler)
                for group in range(len(self.plan.schema.classes))
            ]
            drawn.append({key: np.stack([one[key] for one in released]) for key in sums})
        # Nothing before this line has changed the stream: a step that fails leaves it as it was.
        assert self.plan.stream is not None
        self.step, self.exact = step, exact[len(exact) - self.plan.stream.kept(step) :]
        self.noisy += drawn
        self.samplers = tuple(dict.fromkeys((*self.samplers, *samplers_of(self.plan, sampler))))
        self.trusts = tuple(dict.fromkeys((*self.trusts, *trusts)))
        self.simulation = self.simulation or sampler.simulation

    def _with(self, statistics: Statistics) -> list[dict[Key, NDArray[np.int64]]]:
        """The exact integers of the steps that are needed, with those of the step to come."""
        bundles = exact_bundles(statistics, self.plan)
        return [*self.exact, {key: np.stack([one[key] for one in bundles]) for key in bundles[0]}]

    def _sums(self, exact: list[dict[Key, NDArray[np.int64]]], step: int) -> Iterator[dict[Key, NDArray[np.int64]]]:
        """The integers that get noise at a step."""
        assert self.plan.stream is not None
        for coefficients in self.plan.stream.emitted(step):
            parts = exact[len(exact) - len(coefficients) :]
            yield {key: combined([part[key] for part in parts], coefficients) for key in exact[-1]}

    def release(self) -> Release:
        """The sums so far, out of all that was drawn."""
        running = self.plan.stream
        assert running is not None
        if not self.step:
            raise StatisticsError("the stream has no step yet, so there is no model: take its first step")
        weights = running.weights(self.step)
        values = {
            key: np.tensordot(weights, np.stack([one[key] for one in self.noisy]).astype(np.float64), axes=1)
            for key in self.noisy[0]
        }
        times = mean_square(running, self.step)
        plan = replace(self.plan, trusts=self.trusts)
        return Release(plan, values, samplers=self.samplers, simulation=self.simulation, times=times)

    def until(self, step: int) -> Stream:
        """The stream as it was after an earlier step, to read and not to go on with."""
        assert self.plan.stream is not None and 1 <= step <= self.step
        drawn = sum(len(self.plan.stream.emitted(one)) for one in range(1, step + 1))
        return replace(self, step=step, exact=[], noisy=self.noisy[:drawn])

    # ---- the file

    def save(self, path: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        """Write the stream so that only its owner can read it, whole or not at all."""
        head = {
            "settings": settings, "step": self.step, "samplers": self.samplers, "simulation": self.simulation,
            "plan": fingerprint(self.plan), "exact": len(self.exact), "noisy": len(self.noisy),
            "trusts": self.trusts,
        }  # fmt: skip
        arrays: dict[str, NDArray[Any]] = {}
        for name, kept in (("exact", self.exact), ("noisy", self.noisy)):
            for place, item in enumerate(self.plan.items):
                if kept:
                    arrays[f"{name}{place}"] = np.stack([one[item.key] for one in kept])
        body = io.BytesIO()
        np.savez_compressed(body, allow_pickle=False, head=np.array(json.dumps(head)), **arrays)
        content = body.getvalue()
        write_bytes(path, MAGIC + hashlib.sha256(content).digest() + content, private=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str], plan: Plan) -> Stream:
        """The stream of a file, if it is one of this plan."""
        head, arrays = _read(path)
        if head["plan"] != fingerprint(plan):
            raise BudgetError(
                f"{path} is the stream of another schema or of other settings: go on with those it was started with"
            )

        def kept(name: str) -> list[dict[Key, NDArray[Any]]]:
            return [
                {item.key: arrays[f"{name}{place}"][i] for place, item in enumerate(plan.items)}
                for i in range(head[name])
            ]

        samplers, trusts = tuple(head["samplers"]), tuple(head.get("trusts", ()))
        return cls(plan, head["step"], kept("exact"), kept("noisy"), samplers, head["simulation"], trusts)


def stream_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings that the stream of a file was started with."""
    return dict(_read(path)[0]["settings"])


def _read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    try:
        found = Path(path).read_bytes()
    except FileNotFoundError:
        raise BudgetError(LOST.format(path)) from None
    content = found[len(MAGIC) + 32 :]
    if not found.startswith(MAGIC) or hashlib.sha256(content).digest() != found[len(MAGIC) : len(MAGIC) + 32]:
        raise ModelError(f"{path} is no stream, or it is damaged, and a damaged one cannot be gone on with")
    with np.load(io.BytesIO(content), allow_pickle=False) as held:
        arrays = {name: held[name] for name in held.files}
    return parse_json(str(arrays.pop("head"))), arrays


def fingerprint(plan: Plan) -> str:
    """What must stay the same from step to step: all that decides what is released, and at which cost."""
    told = (
        plan.schema.hash, plan.budget, plan.adjacency, plan.contributions, plan.unexpected, plan.items, plan.stream,
    )  # fmt: skip
    return hashlib.sha256(repr(told).encode()).hexdigest()


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Nobody else takes a step of the same file meanwhile: both would draw noise for one step."""
    handle = os.open(f"{os.path.realpath(path)}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # no locks on this system: one process at a time is up to its user
            pass
        except BlockingIOError:
            raise BudgetError(f"{path} is in use: another process takes a step of this stream; wait for it") from None
        yield
    finally:
        os.close(handle)
