"""A smooth release of counts, means and variances stays within its certificate; cuts are noticed, S stays private."""

import itertools
import json
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

import discreet.bayes.smooth as staged
from discreet import Budget, PrivateNB, SmoothSettings
from discreet.bayes.plan import make_plan
from discreet.mechanisms import smooth, smooth_plan
from discreet.privacy.ledger import cost
from tests.exhaustive.smooth_laws import OUTCOMES, SCHEMA, Laws, grown, multisets, one_class, settled

EPSILON, DELTA, TINY = 2.0, 0.05, 1e-6
QUICK = {("student-t", "trimmed", "auto"), ("student-t", "bun-steinke", 1), ("cauchy", "trimmed", 1),
         ("cauchy", "bun-steinke", "auto"), ("cauchy", "trimmed", 0)}  # fmt: skip
PURE = [
    pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow)  # each value of each setting in each run
    for one in itertools.product(("student-t", "cauchy"), ("trimmed", "bun-steinke"), ("auto", 0, 1))
]


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    """Release on a lattice small enough to enumerate."""
    monkeypatch.setattr(staged, "FINE", 8)
    staged._settled.cache_clear()
    yield
    staged._settled.cache_clear()


def planned(budget=None, **settings):
    settings = {"numeric": "gaussian", "sensitivity": "smooth", **settings}
    return make_plan(SCHEMA, budget or Budget(EPSILON), **settings)


@pytest.mark.parametrize(("noise", "estimator", "trim"), PURE)
def test_every_add_remove_pair_stays_within_epsilon(noise, estimator, trim):
    plan = planned(noise=noise, estimator=estimator, trim=trim)
    laws, pairs = Laws(plan, 3), one_class(3)
    worst = max(max(laws.loss(a, b), laws.loss(b, a)) for a, b in pairs)
    assert 0.6 * EPSILON < worst <= EPSILON + TINY
    for item in plan.items[1:]:
        assert laws.worst_alone(item.kind, pairs) <= float(item.charge.cost) + TINY


@pytest.mark.parametrize("noise", ["student-t", "cauchy"])
def test_every_replacement_stays_within_epsilon_and_label_changes_touch_two_classes(noise):
    plan = planned(noise=noise, adjacency="replace")
    laws, worst = Laws(plan, 3), {"value": 0.0, "label": 0.0}
    for small in multisets(2):
        same = itertools.permutations(grown(small), 2)
        worst["value"] = max([worst["value"], *(laws.loss(a, b) for a, b in same)])
    leaving = max(laws.loss(b, a) for a, b in one_class(2))
    entering = max(laws.loss(a, b) for a, b in one_class(2))
    worst["label"] = leaving + entering  # the two classes are released independently
    assert worst["value"] <= EPSILON + TINY and worst["label"] <= EPSILON + TINY
    assert max(worst.values()) > 0.6 * EPSILON
    # The same noise sold as add-remove noise would break the promise.
    cheap = Laws(planned(noise=noise), 3)
    assert max(cheap.loss(b, a) for a, b in one_class(2)) + max(cheap.loss(a, b) for a, b in one_class(2)) > EPSILON


def test_two_rows_of_one_person_are_paid_for():
    laws = Laws(planned(noise="cauchy", contributions=2), 2)
    worst = max(max(laws.loss(a, b), laws.loss(b, a)) for a, b in one_class(2, rows=2))
    assert worst <= EPSILON + TINY
    single = Laws(planned(noise="cauchy"), 2)
    assert max(max(single.loss(a, b), single.loss(b, a)) for a, b in one_class(2, rows=2)) > 1.2 * EPSILON


@pytest.mark.parametrize("noise", ["laplace-log-normal", "uniform-log-normal", "arsinh-normal", "student-t"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_concentrated_cost_of_every_pair(noise, adjacency):
    plan = planned(Budget(rho=0.5), noise=noise, adjacency=adjacency)
    assert cost(plan.node, "rho") == Fraction(1, 2)
    laws = Laws(plan, 2)
    for order in (1.5, 2.0, 6.0):
        if adjacency == "add-remove":
            worst = max(max(laws.renyi(a, b, order), laws.renyi(b, a, order)) for a, b in one_class(1))
        else:
            steps = list(itertools.chain(*(itertools.permutations(grown(s), 2) for s in multisets(1))))
            leaving = max(laws.renyi(b, a, order) for a, b in one_class(1))
            entering = max(laws.renyi(a, b, order) for a, b in one_class(1))
            worst = max([leaving + entering, *(laws.renyi(a, b, order) for a, b in steps)])
        assert 0.02 * order < worst <= 0.5 * order + TINY


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_approximate_cost_of_every_pair(noise):
    plan = planned(Budget(EPSILON, DELTA), noise=noise)
    assert cost(plan.node, "epsilon") == 2 and cost(plan.node, "delta") == Fraction(1, 20)
    laws = Laws(plan, 2)
    worst = max(max(laws.hockey_stick(a, b, EPSILON), laws.hockey_stick(b, a, EPSILON)) for a, b in one_class(1))
    assert worst <= DELTA
    moved = planned(Budget(EPSILON, DELTA), noise=noise, adjacency="replace")
    laws = Laws(moved, 2)
    pairs = [pair for s in multisets(1) for pair in itertools.permutations(grown(s), 2)]
    assert max(laws.hockey_stick(a, b, EPSILON) for a, b in pairs) <= DELTA


CUTS = [("mean", "trimmed"), ("variance", "trimmed"), ("second", "bun-steinke")]


@pytest.mark.parametrize(("kind", "estimator"), CUTS)
@pytest.mark.parametrize("what", ["bound", "scale"])
def test_a_fifth_less_is_noticed(monkeypatch, kind, estimator, what):
    if what == "bound":
        whole = smooth._rounded_up
        monkeypatch.setattr(smooth, "_rounded_up", lambda value: whole(value) * Fraction(4, 5))
    else:
        whole = smooth_plan._center_and_scale

        def smaller(sample, plan):
            centre, scale = whole(sample, plan)
            return centre, scale * Fraction(4, 5)

        monkeypatch.setattr(smooth_plan, "_center_and_scale", smaller)
    plan = planned(noise="cauchy", estimator=estimator, trim=0)
    item = next(item for item in plan.items if item.kind == kind)
    laws, pairs = Laws(plan, 3), one_class(3)
    assert laws.worst_alone(kind, pairs) > 1.1 * float(item.charge.cost)
    assert max(max(laws.loss(a, b), laws.loss(b, a)) for a, b in pairs) > EPSILON + 0.05


def test_what_the_release_fixes_depends_on_released_counts_alone():
    plan = planned()
    for outcome in OUTCOMES[::5]:
        fixed = settled(plan, outcome)
        assert all(settled(plan, outcome, values) == fixed for values in multisets(3))


def plain(value):
    """Every number and every text in a nest of plain values."""
    if isinstance(value, dict):
        return [one for item in value.items() for part in item for one in plain(part)]
    if isinstance(value, list | tuple):
        return [one for item in value for one in plain(item)]
    return [value]


@pytest.mark.parametrize("settings", [{}, {"estimator": "bun-steinke"}, {"sensitivity": "auto"}])
def test_the_bound_and_the_scale_stay_inside(monkeypatch, settings):
    seen = []
    whole = smooth_plan._center_and_scale

    def watched(sample, plan):
        centre, scale = whole(sample, plan)
        seen.extend([centre, scale, scale * plan.divisor])
        return centre, scale

    monkeypatch.setattr(smooth_plan, "_center_and_scale", watched)
    monkeypatch.setattr(staged, "FINE", 1 << 16)
    staged._settled.cache_clear()
    rng = np.random.default_rng(0)
    values, labels = rng.integers(0, 3, 400)[:, None], rng.integers(0, 2, 400)
    bound = SmoothSettings(spread={"x": 0.05}, **settings)
    fitted = PrivateNB(4.0, schema=SCHEMA, numeric="gaussian", smooth=bound).fit(values, labels)
    assert seen
    out = [
        fitted.model_.to_dict(),
        json.loads(fitted.certificate_.model_dump_json()),
        fitted.plan().to_dict(),
        [repr(fitted), repr(fitted.release_), str(fitted.plan()), repr(fitted.plan()), repr(fitted.model_)],
    ]
    found = set()
    for part in plain(out):
        found.add(part)
        if isinstance(part, str):
            found |= set(part.replace(",", " ").replace("(", " ").replace(")", " ").split())
    for number in seen:
        assert str(number) not in found and float(number) not in found - {0.0, 1.0}
        if float(number) not in {0.0, 1.0}:
            assert repr(float(number)).encode() not in pickle.dumps(repr(out))
    for charge in fitted.certificate_.charges():
        if charge.node == "smooth":
            assert set(charge.parameters) <= {
                "law", "degrees of freedom", "sigma", "beta", "s", "m", "cap", "add-remove steps", "epsilon per step"
            }  # fmt: skip


def test_the_ledger_shows_classes_side_by_side():
    for adjacency, words in (("add-remove", "one class only"), ("replace", "two add-remove steps")):
        fitted = PrivateNB(
            1.0, schema=SCHEMA, numeric="gaussian", smooth=SmoothSettings(), adjacency=adjacency, random_state=0
        ).fit(np.tile([0, 1, 2], 100)[:, None], np.repeat([0, 1], 150))
        group = fitted.certificate_.ledger.parts[-1]
        assert group.node == "parallel" and words in group.assumption
        assert [part.what for part in group.parts] == ["class 0", "class 1"]
        assert cost(fitted.release_.node, "epsilon") == 1
        charge = group.parts[0].parts[0]
        steps = 1 if adjacency == "add-remove" else 2
        assert Fraction(charge.parameters["epsilon per step"]) * steps == Fraction(charge.cost)
        assert math.isclose(sum(float(Fraction(c.cost)) for c in group.parts[0].parts), 2 / 3)
