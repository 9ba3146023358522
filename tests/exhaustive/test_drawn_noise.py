"""The noise that a release really draws is the noise that its plan and its proof speak of.

Recorded calls show the exact spread handed to the sampler for every kind of statistic; goodness-of-fit tests of
whole releases reject a right one with probability 1e-8 each, of which there are under 40.
"""

import numpy as np
import pytest

from discreet import Adjacency, Budget
from discreet.bayes.plan import make_plan
from discreet.bayes.release import exact_bundles, noised, release
from discreet.mechanisms.noise import ExactSampler
from tests.exhaustive.neighbours import SCHEMAS, universe
from tests.laws import gaussian_log_pmf, laplace_log_pmf
from tests.statistical.test_noise import ALARM, p_value

CASES = [
    (adjacency, numeric, delta)
    for adjacency in Adjacency
    for numeric in ("histogram", "gaussian")
    for delta in (0, 1e-3)
]


class Recorder:
    """Writes down what it is asked to draw, and adds nothing."""

    name, simulation = "recorder", True

    def __init__(self):
        self.calls = []

    def laplace(self, values, scale):
        self.calls.append(("epsilon", len(values), scale))
        return values

    def gaussian(self, values, variance):
        self.calls.append(("rho", len(values), variance))
        return values


def setting(name, adjacency, numeric, delta):
    from discreet import collect

    schema = SCHEMAS[name]
    plan = make_plan(schema, Budget(2.0, delta), adjacency=adjacency, numeric=numeric, split="equal")
    rows = universe(schema)
    table = np.empty((len(rows), len(schema.features) + 1), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    return plan, collect(table[:, :-1], schema, table[:, -1], detail=plan.detail)


@pytest.mark.parametrize(("adjacency", "numeric", "delta"), CASES)
def test_every_statistic_of_every_class_is_drawn_with_its_planned_spread(adjacency, numeric, delta):
    plan, statistics = setting("number with gaps", adjacency, numeric, delta)
    recorder = Recorder()
    untouched = release(statistics, plan, recorder)
    classes = len(plan.schema.classes)
    planned = [(item.charge.measure, item.cells, item.charge.spread) for item in plan.items]
    assert recorder.calls == planned * classes
    assert {item.kind for item in plan.items} == (
        {"class", "table"} if numeric == "histogram" else {"class", "present", "sum", "square"}
    )
    exact = exact_bundles(statistics, plan)
    for key, values in untouched.values.items():
        np.testing.assert_array_equal(values, [bundle[key] for bundle in exact])


@pytest.mark.parametrize(("adjacency", "numeric", "delta"), CASES)
def test_drawn_noise_follows_the_planned_law_and_no_wider_or_narrower_one(adjacency, numeric, delta):
    plan, statistics = setting("number with gaps", adjacency, numeric, delta)
    bundle = exact_bundles(statistics, plan)[0]
    copies = {key: np.tile(values, (8000, 1)) for key, values in bundle.items()}
    drawn = noised(copies, plan, ExactSampler())
    for item in plan.items:
        noise = (drawn[item.key] - bundle[item.key]).ravel()
        spread = float(item.charge.spread)
        law, square = (laplace_log_pmf, 1) if item.charge.measure == "epsilon" else (gaussian_log_pmf, 2)
        assert p_value(noise, law, spread) > ALARM, item
        for factor in (0.8, 1.25):
            assert p_value(noise, law, spread * factor**square) < ALARM, (item, factor)
