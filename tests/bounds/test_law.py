"""The law of a settlement: for every neighbour of small data sets and every outcome of the first look."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet import Numeric, Schema
from discreet.bounds.grid import PARTS, Octaves
from discreet.bounds.plan import make_settle_plan
from discreet.bounds.release import count_finest, settled
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.calibrate import float_up
from discreet.privacy.ledger import cost
from tests.exhaustive.neighbours import laplace_loss

ONE = Schema([Numeric("a", -1, 3, integer=True, bins=3, bounds="private", missing="bin")], "y", [0, 1])
TWO = Schema(
    [Numeric("a", -1, 1, integer=True, bins=2, bounds="private"), Numeric("b", 0, 2, integer=True, bins=2)], "y", [0, 1]
)
EPSILON = Fraction(1)


class Scripted:
    """A sampler that releases what the script says at the first look, and keeps what it was handed."""

    name, simulation = "scripted", True

    def __init__(self, script):
        self.script, self.handed = list(script), []

    def laplace(self, values, scale):
        self.handed.append((values, float_up(scale)))
        first = len(self.handed) % 2 == 1
        return np.array(self.script.pop(0), np.int64) if first else values


def worlds(schema):
    return list(
        itertools.product(*([-1.0, 0.0, 1.0, 3.0, *([np.nan] if f.missing == "bin" else [])] for f in schema.features))
    )


def exact(schema, plan, rows):
    if not rows:
        return {f.name: np.zeros(Octaves.of(f).size * PARTS, np.int64) for f in plan.features}
    return count_finest(np.array(rows).reshape(len(rows), -1), plan)


def pairs(schema, adjacency, moved):
    rows = worlds(schema)
    for base in ((), (rows[0],), (rows[-1], rows[1])):
        for added in itertools.combinations_with_replacement(rows, moved):
            if adjacency == "add-remove":
                yield base, (*base, *added)
            else:
                for other in itertools.combinations_with_replacement(rows, moved):
                    yield (*base, *added), (*base, *other)


def scripts(plan):
    """First looks that lead to every kind of second histogram: few and many rows in each octave."""
    sizes = [Octaves.of(feature).size for feature in plan.features]
    levels = (-40, 0, 200) if plan.adjacency == "add-remove" and plan.contributions == 1 else (-40, 200)
    per = [list(itertools.product(levels, repeat=size)) for size in sizes]
    return list(itertools.product(*per)) if len(sizes) == 1 else list(zip(*per, strict=False))


def worst(schema, adjacency, contributions=1, factor=1.0, **settings):
    plan = make_settle_plan(
        schema, Budget(EPSILON), adjacency=Adjacency.of(adjacency), contributions=contributions, **settings
    )
    assert cost(plan.node, "epsilon") == EPSILON
    cut = {
        key: replace(charge, spread=charge.spread * Fraction(factor))
        for key in ("octaves", "parts")
        if (charge := getattr(plan, key)) is not None
    }
    plan, found = replace(plan, **cut), 0.0
    ways = {}
    for left, right in pairs(schema, adjacency, contributions):
        a, b = exact(schema, plan, left), exact(schema, plan, right)
        ways[tuple(tuple((a[name] - b[name]).tolist()) for name in a)] = (a, b)
    for script in scripts(plan):
        for a, b in ways.values():
            one, two = Scripted(script), Scripted(script)
            assert settled(a, plan, one).unsettled == () and settled(b, plan, two) is not None
            assert len(one.handed) == len(two.handed) == len(plan.bounds) * (1 + bool(plan.edges))
            loss = 0.0
            for (x, scale), (y, other) in zip(one.handed, two.handed, strict=True):
                assert scale == other and x.shape == y.shape  # cells follow from what was released, not from the rows
                loss += sum(laplace_loss(abs(int(d)), scale) for d in (x - y) if d)
            found = max(found, loss)
    return found


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("edges", ["private", "declared"])
def test_no_neighbour_changes_the_law_by_more_than_epsilon(adjacency, edges):
    found = worst(ONE, adjacency, edges=edges)
    assert 0.999 * EPSILON < found <= EPSILON * (1 + 1e-9)


def test_two_numbers_share_the_budget():
    found = worst(TWO, "add-remove", bounds="private")
    assert 0.999 * EPSILON < found <= EPSILON * (1 + 1e-9)


def test_two_rows_of_one_person():
    found = worst(ONE, "add-remove", contributions=2)
    assert 0.999 * EPSILON < found <= EPSILON * (1 + 1e-9)


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_noise_cut_by_a_fifth_is_found_out(adjacency):
    assert worst(ONE, adjacency, factor=0.8) > 1.2 * EPSILON
