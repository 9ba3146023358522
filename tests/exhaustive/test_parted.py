"""Partitioned tables: the whole law over every deal of rows to features, for every neighbour of small data sets."""

import math
from itertools import combinations_with_replacement, product
from typing import ClassVar

import numpy as np
import pytest

import discreet.bayes.bernoulli as bernoulli
from discreet import Categorical, PrivateNB, Schema, sources
from discreet.mechanisms.noise import ExactSampler

SCHEMA = Schema([Categorical(name, [0, 1]) for name in "ab"], "y", [0, 1])
ROWS = list(product((0, 1), repeat=3))
EPSILON, FEATURES, MOST = 1.0, 2, 2


class Dealt:
    """Deals rows as it is told, and remembers how many were asked for."""

    deal: tuple[int, ...] = ()
    asked: ClassVar[list[tuple[int, int]]] = []

    def integers(self, bound, size):
        self.asked.append((bound, size))
        return np.array(self.deal, np.int64)


def law_of(rows, scale, deals, monkeypatch):
    """Chances of all eight noisy cells from 0 to MOST; beyond, the ratio of two such laws no longer changes."""
    monkeypatch.setattr(bernoulli, "Odds", Dealt)
    plan = PrivateNB(math.inf, schema=SCHEMA, strategy="partition").plan()
    table = np.array(rows)
    values = np.arange(MOST + 1)
    total = np.zeros((MOST + 1,) * 8)
    source = sources.open(table[:, :2], SCHEMA, table[:, 2])
    for deal in deals(len(rows)):
        Dealt.deal = deal
        found = bernoulli.collect_tables(source, plan, ExactSampler()).values
        cells = np.concatenate([np.ravel(one) for one in found.values()])
        chances = np.exp(-np.abs(values - cells[:, None]) / scale)  # up to a constant that all laws share
        total += np.einsum("a,b,c,d,e,f,g,h->abcdefgh", *chances) / FEATURES ** len(rows)
    return total


def every_deal(size):
    return product(range(FEATURES), repeat=size)


def in_turn(size):
    return [tuple(i % FEATURES for i in range(size))] * FEATURES**size


def loss(adjacency, deals, monkeypatch, contributions=1):
    plan = PrivateNB(
        EPSILON, schema=SCHEMA, strategy="partition", adjacency=adjacency, contributions=contributions
    ).plan()  # fmt: skip
    (scale,) = {float(item.charge.spread) for item in plan.items}
    cache, found = {}, 0.0

    def log_law(rows):
        key = tuple(sorted(rows))
        if key not in cache:
            cache[key] = np.log(law_of(key, scale, deals, monkeypatch))
        return cache[key]

    for row in ROWS:
        if adjacency == "add-remove":
            pairs = [((row,), (row, other)) for other in ROWS]
        else:
            pairs = [((row, a), (row, b)) for a, b in combinations_with_replacement(ROWS, 2)]
        found = max(found, *(float(np.abs(log_law(one) - log_law(two)).max()) for one, two in pairs))
    return found


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_no_neighbour_changes_the_law_by_more_than_epsilon(adjacency, monkeypatch):
    Dealt.asked.clear()
    found = loss(adjacency, every_deal, monkeypatch)
    assert 0.3 * EPSILON < found <= EPSILON * (1 + 1e-9)
    assert set(Dealt.asked) <= {(FEATURES, 1), (FEATURES, 2)} and Dealt.asked


def test_dealing_rows_in_turn_would_break_the_promise(monkeypatch):
    """A row before the others moves all of them to another feature: its cost is not that of one row."""
    assert loss("add-remove", in_turn, monkeypatch) > 2 * EPSILON
