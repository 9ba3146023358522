"""Streams of a few steps: no neighbour costs more than the one budget, whichever step its rows are in; cuts show."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import Adjacency, Budget, FederatedNB, PrivateNB, collect
from discreet.bayes.stream import Stream
from discreet.mechanisms import running
from discreet.mechanisms.running import Root, Tree, best_tree, combined, mean_square
from discreet.nodes.settings import Settings, node_plan
from tests.exhaustive.neighbours import SCHEMAS, universe

EPSILON, DELTA = 1.0, 1e-5
NAME = "table and number"
KINDS = [("laplace", 0.0), ("knorm", 0.0), ("gaussian", DELTA), ("residual", DELTA)]


class Handed:
    """A sampler that adds nothing and keeps what it is handed, with its kind and its parameter."""

    name, simulation = "none", True

    def __init__(self):
        self.calls = []

    def laplace(self, values, scale):
        self.calls.append(("laplace", scale, [values.copy()]))
        return values

    def gaussian(self, values, variance):
        self.calls.append(("gaussian", variance, [values.copy()]))
        return values

    def tables(self, values, rate):
        self.calls.append(("tables", rate, [one.copy() for one in values]))
        return values


def handed(plan, stream):
    """All that the steps of a stream hand to the sampler, by the code of a step; a stream is {row: step}."""
    world, sampler, whole = universe(plan.schema), Handed(), Stream(plan)
    for step in range(plan.stream.steps):
        rows = [world[row] for row, place in stream if place == step]
        table = np.empty((len(rows), len(plan.schema.features) + 1), object)
        for i, row in enumerate(rows):
            table[i] = row
        whole.add(collect(table[:, :-1], plan.schema, table[:, -1], detail=plan.detail, empty=True), sampler)
    return sampler.calls


def loss(one, two):
    """What neighbours cost: the worst log-ratio of Laplace and K-norm noise, ρ of Gaussian noise."""
    total = 0.0
    for (kind, spread, left), (other, same, right) in zip(one, two, strict=True):
        assert (kind, spread) == (other, same)  # noise is the same whatever the rows are
        moves = [a.astype(object) - b for a, b in zip(left, right, strict=True)]
        if kind == "laplace":
            total += float(sum(np.abs(move).sum() for move in moves) / spread)
        elif kind == "gaussian":
            total += float(sum((move * move).sum() for move in moves) / (2 * spread))
        else:
            assert len({move.sum() for move in moves}) == 1
            total += float(spread * max(np.abs(move).sum() for move in moves))
    return total


def plan_of(mechanism, delta, adjacency, monkeypatch, rows=1, numeric="histogram", shape=None):
    shape = Tree(4, 2, 3) if shape is None else shape
    monkeypatch.setattr("discreet.bayes.streamed.best_tree", lambda steps: shape)
    return PrivateNB(
        EPSILON, delta, SCHEMAS[NAME], adjacency, mechanism, numeric, contributions=rows, stream=shape.steps
    ).plan()  # fmt: skip


def worst(plan, adjacency, rows=1, others=()):
    """Over all rows and all steps they can be in, and under replace all they can be replaced by, step included."""
    places = list(itertools.product(range(len(universe(plan.schema))), range(plan.stream.steps)))
    if rows > 1:  # of two rows the extremes: the first and the last of all rows
        places = [(row, step) for row, step in places if row in (0, len(universe(plan.schema)) - 1)]
    moved = list(itertools.combinations_with_replacement(places, rows))
    calls = {some: handed(plan, (*others, *some)) for some in moved}
    if adjacency == "add-remove":
        empty = handed(plan, others)
        return max(loss(empty, one) for one in calls.values())
    return max(loss(one, two) for one, two in itertools.combinations(calls.values(), 2))


def claimed(plan):
    return float(plan.budget.epsilon if plan.rho is None else plan.rho)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("mechanism", "delta"), KINDS)
def test_a_row_in_any_step_costs_the_budget_and_never_more(monkeypatch, mechanism, delta, adjacency):
    """Trees of three levels over four steps, roots of four; a replaced row may change its step too."""
    plan = plan_of(mechanism, delta, adjacency, monkeypatch)
    found = worst(plan, adjacency)
    assert found <= claimed(plan) * (1 + 1e-9)
    assert found >= claimed(plan) * (1 - 1e-6)


@pytest.mark.parametrize(("mechanism", "delta"), [("laplace", 0.0), ("gaussian", DELTA)])
@pytest.mark.parametrize("adjacency", list(Adjacency))
def test_two_rows_of_a_person_in_any_steps(monkeypatch, mechanism, delta, adjacency):
    plan = plan_of(mechanism, delta, adjacency, monkeypatch, rows=2, numeric="gaussian", shape=Tree(3, 2, 2))
    assert worst(plan, adjacency, rows=2, others=((0, 0),)) <= claimed(plan) * (1 + 1e-9)


@pytest.mark.parametrize(("mechanism", "delta"), KINDS)
def test_a_reach_cut_by_a_fifth_is_noticed(monkeypatch, mechanism, delta):
    whole = Root.reach.func
    cut = property(lambda self: Fraction(whole(self)) * 16 // 25)
    monkeypatch.setattr(running.Root, "reach", cut)
    monkeypatch.setattr(running.Tree, "reach", property(lambda self: Fraction(4 * self.levels, 5)))
    plan = plan_of(mechanism, delta, "add-remove", monkeypatch)
    assert worst(plan, "add-remove") > 1.2 * claimed(plan)


def node_plan_of(mechanism, delta, adjacency, monkeypatch, rows=1):
    """The plan of a node of a federation, which has its own tables to choose from: none that are noised together."""
    monkeypatch.setattr("discreet.bayes.streamed.best_tree", lambda steps: Tree(4, 2, 3))
    settings = Settings.of(adjacency, "histogram", "weighted", rows)
    return node_plan.__wrapped__(SCHEMAS[NAME], settings, Budget(EPSILON, delta), mechanism, 4)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("mechanism", "delta"), [("laplace", 0.0), ("gaussian", DELTA)])
def test_a_row_at_one_node_of_a_federation_costs_the_budget_and_never_more(monkeypatch, mechanism, delta, adjacency):
    plan = node_plan_of(mechanism, delta, adjacency, monkeypatch)
    found = worst(plan, adjacency)
    assert claimed(plan) * (1 - 1e-6) <= found <= claimed(plan) * (1 + 1e-9)


@pytest.mark.parametrize(("mechanism", "delta"), [("laplace", 0.0), ("gaussian", DELTA)])
def test_a_reach_cut_by_a_fifth_is_noticed_at_nodes(monkeypatch, mechanism, delta):
    whole = Root.reach.func
    monkeypatch.setattr(running.Root, "reach", property(lambda self: Fraction(whole(self)) * 16 // 25))
    monkeypatch.setattr(running.Tree, "reach", property(lambda self: Fraction(4 * self.levels, 5)))
    plan = node_plan_of(mechanism, delta, "add-remove", monkeypatch)
    assert worst(plan, "add-remove") > 1.2 * claimed(plan)


@pytest.mark.parametrize("adjacency", list(Adjacency))
@pytest.mark.parametrize(("mechanism", "delta"), [("laplace", 0.0), ("gaussian", DELTA)])
def test_every_draw_of_a_federation(monkeypatch, mechanism, delta, adjacency):
    """Two nodes, three steps, each row at each node in each step: what all nodes hand to the sampler together."""
    monkeypatch.setattr("discreet.bayes.streamed.best_tree", lambda steps: Tree(steps, 3, 2))
    node_plan.cache_clear()
    schema = SCHEMAS[NAME]
    world, settings = universe(schema), {"mechanism": mechanism, "delta": delta, "adjacency": str(adjacency)}

    def published(row, node, place):
        sampler = Handed()
        monkeypatch.setattr("discreet.federated.steps.sampler_for", lambda *_: sampler)
        made = FederatedNB(EPSILON, schema=schema, n_nodes=2, stream=3, partition=np.array([0, 1]), **settings)
        for step in range(3):
            rows = [(world[0], 0), (world[-1], 1), *([(world[row], node)] if row is not None and step == place else [])]
            table = np.array([one for one, _ in rows], object)
            made.set_params(partition=np.array([at for _, at in rows]))
            made.partial_fit(table[:, :-1], table[:, -1])
        return sampler.calls

    places = [(row, node, step) for row in (0, len(world) // 2, len(world) - 1) for node in (0, 1) for step in range(3)]
    calls = {place: published(*place) for place in places}
    rho = node_plan(
        schema, Settings.of(adjacency, "histogram", "weighted", 1), Budget(EPSILON, delta), mechanism, 3
    ).rho
    cost = EPSILON if rho is None else float(rho)
    node_plan.cache_clear()
    if adjacency == "add-remove":
        none = published(None, 0, 0)
        assert max(loss(none, one) for one in calls.values()) == pytest.approx(cost, rel=1e-6)
    else:  # a changed row stays at its node
        pairs = [(a, b) for a, b in itertools.combinations(places, 2) if a[1] == b[1]]
        assert cost * 0.9 < max(loss(calls[a], calls[b]) for a, b in pairs) <= cost * (1 + 1e-9)


@pytest.mark.parametrize("shape", [*(Tree(9, b, h) for b, h in [(9, 1), (2, 4), (3, 3), (4, 2)]), Root(9), Root(1)])
def test_what_was_released_adds_up_to_the_sum_so_far(shape):
    """Without noise the weights give the sum of all steps; each is in as many sums as the reach says, at most."""
    steps, released = np.arange(1, shape.steps + 1) ** 3, []
    columns = np.zeros(shape.steps)
    for step in range(1, shape.steps + 1):
        kept = step - 1 if step == 1 else shape.kept(step - 1)
        for coefficients in shape.emitted(step):
            assert len(coefficients) <= kept + 1  # what a step needs has been kept
            released.append(int(combined(list(steps[step - len(coefficients) : step]), coefficients)))
            norm = np.abs(coefficients) if isinstance(shape, Tree) else np.square(coefficients)
            columns[step - len(coefficients) : step] += norm
        np.testing.assert_allclose(shape.weights(step) @ released, steps[:step].sum(), rtol=1e-9)
    assert columns.max() == shape.reach
    spread = [mean_square(shape, step) for step in range(1, shape.steps + 1)]
    assert np.mean(spread) == pytest.approx(shape.mean_square)


def test_noise_grows_with_the_logarithm():
    """Standard deviations over that of one release, against √T of batches and ln T of the theorem."""
    for steps in (100, 365, 1000):
        root = Root(steps)
        assert math.sqrt(root.reach * mean_square(root, steps)) < 1.2 + math.log(steps) / math.pi
        tree = best_tree(steps)
        assert tree.levels**2 * tree.mean_square < 0.7 * (steps + 1) / 2


def test_wide_sums_are_held_and_exact_below():
    big = [np.array([2**61, -(2**61), 3]), np.array([2**61, -(2**61), 5])]
    assert combined(big, (4, 1024)).tolist() == [2**63 - 1, -(2**63), 4 * 3 + 1024 * 5]
