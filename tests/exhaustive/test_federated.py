"""Small federations enumerated: a person's row at one node costs that node's ε, at several nodes the sum."""

import math

import numpy as np
import pytest

from discreet import Adjacency, Budget
from discreet.federated import Aggregate
from discreet.mechanisms.noise import SimulationSampler
from discreet.nodes.settings import Settings, node_plan
from discreet.nodes.site import update_of
from discreet.nodes.update import Update
from discreet.sources import collect
from tests.exhaustive.neighbours import SCHEMAS, differences, item_loss, universe

EPSILONS = (0.4, 1.3)
TINY = 1e-9
CASES = [
    (name, adjacency, numeric)
    for name in ("two tables", "table and number", "number with gaps")
    for adjacency in Adjacency
    for numeric in (("histogram", "gaussian") if SCHEMAS[name].numeric else ("histogram",))
]


def plans(name, adjacency, numeric):
    settings = Settings(adjacency, numeric)
    return [node_plan(SCHEMAS[name], settings, Budget(e), "auto") for e in EPSILONS], settings


def losses(plan, found):
    return [sum(item_loss(item, gap[item.key]) for item in plan.items) for gap in found]


@pytest.mark.parametrize(("name", "adjacency", "numeric"), CASES)
def test_the_certificate_of_the_whole_covers_every_neighbour(name, adjacency, numeric):
    """All updates together: a row moves one node's integers only, so that the log ratio is that node's own."""
    schema = SCHEMAS[name]
    both, settings = plans(name, adjacency, numeric)
    found = differences(schema, both[0], adjacency, 1, 1)
    worst = [max(losses(plan, found)) for plan in both]
    for epsilon, loss in zip(EPSILONS, worst, strict=True):
        assert epsilon * (1 - 1e-6) <= loss <= epsilon + TINY

    def whole(**options):
        aggregate = Aggregate(schema, **options)
        row = universe(schema)[0]
        X, y = np.array([row[:-1]], object), np.array([row[-1]], object)
        for i, plan in enumerate(both):
            exact = collect(X, schema, y, detail=plan.detail)
            aggregate.add(update_of(exact, plan, settings, SimulationSampler(i), node=str(i), round_id="r"))
        return aggregate.certificate()

    assert whole().epsilon_value == pytest.approx(max(worst))
    # A person with a row at each node moves both: the sum is needed, and it suffices.
    together = max(a + b for a, b in zip(*(losses(plan, found) for plan in both), strict=True))
    assert together > whole().epsilon_value + 0.1
    assert together <= whole(overlap=True).epsilon_value + TINY


def test_what_travels_beside_the_integers_is_a_function_of_them():
    """Over every small data set, one noise and one output: the bytes say nothing that the integers do not."""
    name, adjacency, numeric = "table and number", Adjacency.ADD_REMOVE, "histogram"
    schema = SCHEMAS[name]
    (plan, _), settings = plans(name, adjacency, numeric)

    class Fixed:
        """Puts the same integers out whatever comes in: one point of the output space."""

        name, simulation = "fixed", True

        def laplace(self, values, scale):
            return np.full_like(values, 3)

        gaussian = laplace

    seen = set()
    for row in universe(schema):
        for copies in range(3):
            X = np.array([row[:-1]] * copies, object).reshape(copies, len(schema.features))
            y = np.array([row[-1]] * copies, object)
            exact = collect(X, schema, y, detail=plan.detail, empty=True)
            seen.add(update_of(exact, plan, settings, Fixed(), node="n", round_id="r").to_bytes())
    assert len(seen) == 1
    assert not math.isnan(Update.from_bytes(seen.pop()).epsilon)
