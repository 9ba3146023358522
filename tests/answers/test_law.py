"""The whole law of answers: every small data set, every neighbour, every deal of rows to parts, two queries."""

import itertools
import math
from functools import lru_cache

import numpy as np
import pytest

from discreet import Budget, Categorical, Schema
from discreet.answers.plan import make_answer_plan
from discreet.answers.votes import Voters
from discreet.mechanisms.choose import concentrated_cost
from discreet.privacy.budget import Adjacency
from tests.laws import exponential_law, permute_and_flip_law

SCHEMA = Schema([Categorical("a", [0, 1])], "y", [0, 1])
ROWS = list(itertools.product((0, 1), (0, 1)))
ASKED = np.array([[0], [1]])
PARTS, EPSILON, QUERIES = 3, 8.0, 2  # at a large ε three votes suffice to come close to it
LAWS = {"permute-and-flip": permute_and_flip_law, "exponential": exponential_law}


def plan_of(adjacency, contributions=1, epsilon=EPSILON):
    return make_answer_plan(
        SCHEMA,
        Budget(epsilon),
        queries=QUERIES,
        parts=PARTS,
        adjacency=Adjacency.of(adjacency),
        contributions=contributions,
    )


@lru_cache(None)
def votes(rows, deal):
    if not rows:
        return ((0, 0),) * len(ASKED)
    cells, labels = np.array(rows).T
    return tuple(map(tuple, Voters(SCHEMA, cells[:, None], labels, np.array(deal), PARTS).votes(ASKED).tolist()))


@lru_cache(None)
def joint(found, law, rate):
    """P(answer to the first query, answer to the second) given the votes."""
    one, two = (LAWS[law](scores, rate) for scores in found)
    return np.outer(one, two)


def pairs(adjacency, moved=1):
    for size in (0, 1, 2, 3) if adjacency == "add-remove" and moved == 1 else (0, 1, 2):
        for base in itertools.combinations_with_replacement(ROWS, size):
            for extra in itertools.product(ROWS, repeat=moved):
                if adjacency == "add-remove":
                    yield base, (*base, *extra)
                else:
                    for other in itertools.product(ROWS, repeat=moved):
                        yield (*base, *extra), (*base, *other)


def worst(adjacency, law, rate, contributions=1, measure=None):
    """(with the deal given, over all deals): the farthest that a neighbour moves the law of both answers."""
    given = mixed = 0.0
    measure = measure or (lambda p, q: float(np.abs(np.log(p / q)).max()))
    for left, right in pairs(adjacency, contributions):
        sums = [0.0, 0.0]
        for deal in itertools.product(range(PARTS), repeat=max(len(left), len(right))):
            p = joint(votes(left, deal[: len(left)]), law, rate)
            q = joint(votes(right, deal[: len(right)]), law, rate)
            given = max(given, measure(p, q), measure(q, p))
            sums = [sums[0] + p, sums[1] + q]
        mixed = max(mixed, measure(*sums))
    return given, mixed


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_no_neighbour_changes_the_law_by_more_than_epsilon(adjacency, law):
    plan = plan_of(adjacency)
    assert plan.each * QUERIES == EPSILON
    given, mixed = worst(adjacency, law, float(plan.rate))
    assert 0.8 * EPSILON < given <= EPSILON * (1 + 1e-9)
    assert 0 < mixed <= given


@pytest.mark.parametrize("law", LAWS)
def test_noise_cut_by_a_fifth_is_found_out(law):
    plan = plan_of("replace")
    assert worst("replace", law, float(plan.rate) / 0.8)[0] > 1.03 * EPSILON


def test_two_rows_of_one_person_move_two_votes():
    plan = plan_of("add-remove", contributions=2)
    assert float(plan.rate) == pytest.approx(EPSILON / 8)
    given, _ = worst("add-remove", "permute-and-flip", float(plan.rate), contributions=2)
    assert 0.45 * EPSILON < given <= EPSILON * (1 + 1e-9)


def test_the_rho_of_the_exponential_mechanism():
    """The Rényi divergence of order 2 of both answers stays within 2ρ, ρ = ε²/8 for each."""
    plan = plan_of("replace", epsilon=1)
    rho = float(concentrated_cost(plan.each, "exponential")) * QUERIES

    def renyi(p, q):
        return math.log(float((p / p.sum() * (p / p.sum()) / (q / q.sum())).sum()))

    given, _ = worst("replace", "exponential", float(plan.rate), measure=renyi)
    assert 0.5 * 2 * rho < given <= 2 * rho * (1 + 1e-9)
