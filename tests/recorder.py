"""A tape of all that reaches samplers, choices, coins and deals in a production call, to be played to a neighbour.

The first call is recorded, with outcomes drawn from a seed. A second call, on a neighbouring data set, is answered
with the very outcomes of the first. Whatever is released must then be the same, bit for bit: all that differs between
neighbours has to go through a mechanism. What the two calls handed to each mechanism gives the privacy loss, by the
laws themselves; no rate, share or sensitivity of the code under test is asked.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms import choose, deal, stopping
from discreet.mechanisms.coins import Coins
from discreet.mechanisms.noise import ExactSampler, discrete_gaussian, discrete_laplace
from discreet.privacy import certifier
from discreet.selection.select import DRAWS
from tests.mechanisms.selection_laws import LAWS

NOISE = ("laplace", "gaussian", "tables")


@dataclass
class Event:
    """One draw: its kind, what is public about it, what it was given, what came out, and what a neighbour gave it."""

    kind: str
    public: tuple[Any, ...]
    given: Any
    outcome: Any
    other: Any = None

    @property
    def loss(self) -> float:
        """The worst log-ratio of the two laws (ρ for a Gaussian): from what was given on either side."""
        return LOSSES[self.kind](self) if self.kind in LOSSES else 0.0


def _laplace(event: Event) -> float:
    return float(np.abs(event.given - event.other).sum() / event.public[0])


def _gaussian(event: Event) -> float:
    return float(np.square(event.given - event.other).sum() / (2 * event.public[0]))


def _tables(event: Event) -> float:
    """The K-norm: tables whose sums move differently have noise of another law altogether."""
    moves = [one - two for one, two in zip(event.given, event.other, strict=True)]
    if len({int(move.sum()) for move in moves}) > 1:
        return math.inf
    return float(event.public[0] * max(int(np.abs(move).sum()) for move in moves))


def flip_law(scores: Sequence[int], rate: float) -> np.ndarray:
    """P(i) of permute-and-flip: P(i)/odds(i) is the integral of the product of 1 − t·odds of all others."""
    odds = np.exp(rate * (np.array(scores, float) - max(scores)))
    law = []
    for i in range(len(odds)):
        others = np.polynomial.Polynomial([1.0])
        for j, chance in enumerate(odds):
            others = others * np.polynomial.Polynomial([1.0, -chance]) if j != i else others
        law.append(odds[i] * others.integ()(1.0))
    return np.array(law)


def soft_law(scores: Sequence[int], rate: float) -> np.ndarray:
    """P(i) of the exponential mechanism."""
    weights = np.exp(rate * (np.array(scores, float) - max(scores)))
    return weights / weights.sum()


def _choice(event: Event) -> float:
    law = flip_law if event.kind == "permute-and-flip" else soft_law
    one, two = (law(scores, float(event.public[0])) for scores in (event.given, event.other))
    return float(np.abs(np.log(one / two)).max())


def _subset(event: Event) -> float:
    rate, size = event.public
    one, two = (
        LAWS[event.kind.split()[0]](scores.tolist(), size, float(rate)) for scores in (event.given, event.other)
    )
    return max(abs(math.log(one[key] / two[key])) for key in one)


LOSSES: dict[str, Callable[[Event], float]] = {
    "laplace": _laplace,
    "gaussian": _gaussian,
    "tables": _tables,
    "permute-and-flip": _choice,
    "exponential": _choice,
    **{f"{name} of several": _subset for name in LAWS},
}


@dataclass
class Tape:
    """Everything drawn in one call, or in two that were answered alike."""

    seed: int = 0
    runs: int = 1  # what a draw of a number of runs comes out as
    fresh: int | None = None  # what a row draws that the first call did not have; None draws it from the seed
    loudness: float = 1.0  # times which the noise of the first call is drawn: zero gives exact counts as outcomes
    events: list[Event] = field(default_factory=list)
    place: int | None = None  # in the second call, where it has got to
    inserted: tuple[int, ...] = ()

    def of(self, *kinds: str) -> list[Event]:
        """The events of some kinds."""
        return [event for event in self.events if event.kind in kinds]

    def loss(self, *kinds: str) -> float:
        """What the second call's rows changed, added up over all draws (or those of some kinds)."""
        return sum(event.loss for event in (self.of(*kinds) if kinds else self.events))

    @property
    def spreads(self) -> list[Fraction]:
        """The spread of each draw of noise: scales, variances, and one over K-norm rates."""
        return [1 / e.public[0] if e.kind == "tables" else Fraction(e.public[0]) for e in self.of(*NOISE)]

    def draw(self, kind: str, public: tuple[Any, ...], given: Any, fresh: Callable[[], Any]) -> Any:
        """Draw anew and write it down, or say what was drawn at this place before."""
        if self.place is None:
            self.events.append(Event(kind, public, given, fresh()))
            return self.events[-1].outcome
        assert self.place < len(self.events), f"a neighbour's call goes on to draw {kind} {public}"
        event = self.events[self.place]
        assert (event.kind, event.public) == (kind, public), "what a neighbour's call draws next is something else"
        self.place += 1
        event.other = given
        if kind == "deal":
            return self._dealt(event)
        return event.outcome

    def _dealt(self, event: Event) -> Any:
        """Every row draws what it drew before, wherever it now stands; a new row draws something new."""
        if event.other == event.given:
            return event.outcome
        assert event.other == event.given + len(self.inserted), "a deal is not one draw for each row"
        new = np.random.default_rng([self.seed, 9]).integers(0, deal.FINE, len(self.inserted))
        result = np.empty(event.other, np.int64)
        spots = np.isin(np.arange(event.other), self.inserted)
        result[spots] = new if self.fresh is None else self.fresh
        result[~spots] = event.outcome
        return result

    @contextlib.contextmanager
    def watching(self, monkeypatch: Any) -> Iterator[Tape]:
        """Stand between the code and everything that draws."""
        rng = np.random.default_rng(self.seed)
        with monkeypatch.context() as patch:
            self._watch_noise(patch, rng)
            self._watch_choices(patch, rng)
            self._watch_coins(patch, rng)
            yield self

    def _watch_noise(self, patch: Any, rng: np.random.Generator) -> None:
        def laplace(_: Any, values: Any, scale: Any) -> Any:
            noise = discrete_laplace(values.size, float(scale) * self.loudness or 1e-9, rng=rng).reshape(values.shape)
            return self.draw("laplace", (Fraction(scale), values.shape), values.copy(), lambda: values + noise)

        def gaussian(_: Any, values: Any, variance: Any) -> Any:
            noise = discrete_gaussian(values.size, float(variance), rng=rng).reshape(values.shape)
            return self.draw("gaussian", (Fraction(variance), values.shape), values.copy(), lambda: values + noise)

        def tables(_: Any, values: Any, rate: Any) -> Any:
            """Noise of about the right size that leaves the tables' sums alike."""
            tilt = [np.rint(rng.normal(size=len(block)) * float(1 / rate)).astype(np.int64) for block in values]
            for noise in tilt:
                noise[0] -= noise.sum()
            public = (Fraction(rate), tuple(len(block) for block in values))
            given = [block.copy() for block in values]
            return self.draw("tables", public, given, lambda: [v + n for v, n in zip(values, tilt, strict=True)])

        for drawn in (laplace, gaussian, tables):
            patch.setattr(ExactSampler, drawn.__name__, drawn)

    def _watch_choices(self, patch: Any, rng: np.random.Generator) -> None:
        def one(kind: str, law: Any) -> Any:
            def choice(scores: Any, rate: Fraction, *, coins: Any) -> int:
                given = [int(score) for score in scores]
                chances = law(given, float(rate))
                return int(
                    self.draw(
                        kind, (rate, len(given)), given, lambda: rng.choice(len(given), p=chances / chances.sum())
                    )
                )

            return choice

        patch.setattr(choose, "permute_and_flip", one("permute-and-flip", soft_law))
        patch.setattr(choose, "exponential", one("exponential", soft_law))

        def several(kind: str) -> Any:
            def draw(scores: Any, k: int, rate: Fraction, *, odds: Any) -> Any:
                law = LAWS[kind](scores.tolist(), k, float(rate))
                keys = list(law)
                spot = rng.choice(len(keys), p=np.array(list(law.values())) / sum(law.values()))
                return self.draw(f"{kind} of several", (rate, k), scores.copy(), lambda: np.array(keys[spot]))

            return draw

        for kind in LAWS:
            patch.setitem(DRAWS, kind, several(kind))

    def _watch_coins(self, patch: Any, rng: np.random.Generator) -> None:
        def below(_: Any, bound: int) -> int:
            return int(self.draw("below", (bound,), None, lambda: rng.integers(bound)))

        def bits(_: Any, count: int) -> int:
            return int(
                self.draw("bits", (count,), None, lambda: int.from_bytes(rng.bytes(16), "little") % (1 << count))
            )

        def draws(size: int, _: Any) -> Any:
            return self.draw("deal", (), size, lambda: rng.integers(0, deal.FINE, size))

        def runs(eta: Fraction, gamma: Fraction, *, coins: Any) -> int:
            return int(self.draw("runs", (eta, gamma), None, lambda: self.runs))

        patch.setattr(Coins, "below", below)
        patch.setattr(Coins, "bits", bits)
        patch.setattr(deal, "_draws", draws)
        patch.setattr(stopping, "draw_runs", runs)
        # The name of a release is drawn beside the data, and is the one thing that two releases do not share.
        patch.setattr(certifier.secrets, "token_hex", lambda size: "0" * 2 * size)


def recorded(monkeypatch: Any, call: Callable[[], Any], **settings: Any) -> tuple[Tape, Any]:
    """A call, and all that was drawn in it."""
    tape = Tape(**settings)
    with tape.watching(monkeypatch):
        return tape, call()


def replayed(
    monkeypatch: Any,
    call: Callable[[Any], Any],
    first: Any,
    second: Any,
    *,
    inserted: Sequence[int] = (),
    **settings: Any,
) -> Tape:
    """The tape of two calls on neighbours that were answered alike; what they release must be the same.

    `inserted` are the places of rows in the second data set that the first does not have.
    """
    tape, released = recorded(monkeypatch, lambda: call(first), **settings)
    tape.place, tape.inserted = 0, tuple(inserted)
    with tape.watching(monkeypatch):
        again = call(second)
    assert tape.place == len(tape.events), "a neighbour's call draws less"
    assert released == again, "what is released differs although every mechanism gave the same answers"
    return tape


def with_rows(data: tuple[np.ndarray, np.ndarray], rows: Sequence[Any], labels: Sequence[Any], at: int = 0) -> Any:
    """(X, y) with rows put in at one place, by default before all others: nothing may depend on where a row stands."""
    X, y = data
    return np.insert(X, [at] * len(rows), rows, axis=0), np.insert(y, [at] * len(labels), labels)
