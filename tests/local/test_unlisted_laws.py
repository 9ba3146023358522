"""Exact laws of what a device sends, about rows with and without a place in the schema: every pair is within ε."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

from discreet import Categorical, Numeric, Schema
from discreet.local.campaign import Campaign
from discreet.local.chances import exp_bounds
from discreet.local.inputs import Person
from discreet.local.mechanism import Law, independent, worst_ratio

SCHEMA = Schema([Categorical("c", ["p", "q"]), Numeric("x", 0, 2, step=1, bins=2)], target="y", classes=["no", "yes"])
LISTED = list(itertools.product("pq", (0, 1, 2), ("no", "yes")))
STRANGE: list[tuple[Any, ...]] = [
    ("r", 0, "no"), (None, 2, "yes"), ("p", "two", "no"), ("q", None, "yes"), ("p", 1, "perhaps"),
    ("p", float("inf"), None), ("r", "two", "perhaps"), ([], {}, ()),
]  # fmt: skip


class Dice:
    """Words that a test has chosen; how many were wanted is noted."""

    def __init__(self, words: tuple[int, ...]) -> None:
        self.words, self.used = words, 0

    def word(self) -> int:
        self.used += 1
        return self.words[self.used - 1] if self.used <= len(self.words) else 0


def people(row: tuple[Any, ...]) -> dict[Person, Fraction]:
    """What a row is taken for, and with which chance: words below 10 are even modulo 2 and 5."""
    probe = Dice(())
    Person.read(SCHEMA, row, None, probe)
    found = Counter(Person.read(SCHEMA, row, None, Dice(w)) for w in itertools.product(range(10), repeat=probe.used))
    whole = sum(found.values())
    return {person: Fraction(count, whole) for person, count in found.items()}


def sent(campaign: Campaign, row: tuple[Any, ...]) -> Law:
    """The law of all that a report says, beside its id and which questions were drawn: all of them in turn."""
    law: dict[Any, Fraction] = {}
    taken_for = people(row)
    for asked in itertools.combinations(campaign.questions, campaign.reports):
        for person, chance in taken_for.items():
            laws = [one.mechanism.law(*person.answer(SCHEMA, one.input)) for one in asked]
            for said, likely in independent(laws).items():  # type: ignore[arg-type]
                key = (tuple(one.input.index for one in asked), said)
                law[key] = law.get(key, Fraction(0)) + chance * likely
    return law


@pytest.mark.parametrize(
    "settings",
    [{"oracle": "grr"}, {"oracle": "subset"}, {"oracle": "grr", "reports": 2}, {"oracle": "grr", "numeric": "one-bit"}],
)
def test_what_is_sent_is_within_epsilon_for_every_pair_of_rows_listed_or_not(settings: dict[str, Any]) -> None:
    campaign = Campaign(SCHEMA, 1, **settings)
    listed, strange = [sent(campaign, row) for row in LISTED], [sent(campaign, row) for row in STRANGE]
    worst = worst_ratio(listed)
    assert worst_ratio([*listed, *strange]) == worst <= exp_bounds(campaign.epsilon)[0]
    assert worst >= exp_bounds(campaign.epsilon * Fraction(99, 100))[1]


def test_a_person_without_any_place_is_an_even_draw_of_all() -> None:
    found = people(("r", None, None))
    assert len(found) == 2 * len(range(-SCHEMA.numeric[0].lattice.half, SCHEMA.numeric[0].lattice.half + 1)) * 2
    assert set(found.values()) == {Fraction(1, len(found))}
