"""Shuffled reports of a few people, listed: the exact divergence of what comes out never exceeds the stated δ."""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import reduce

import pytest

from discreet.local.oracles import ORACLES
from discreet.local.oracles.grr import GRR
from discreet.local.oracles.hashing import OLH
from discreet.local.oracles.subset import SubsetSelection
from discreet.local.oracles.unary import OUE, SUE
from discreet.privacy.shuffling import Variation, central_delta

EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.7)
SMALL = [(GRR(2, 1), 6), (GRR(3, 1), 5), (GRR(4, 1), 4), (GRR(5, 2), 3), (SUE(2, 1), 4), (OUE(2, 1), 4),
         (SUE(3, 1), 3), (SubsetSelection(4, 1), 3), (OLH(2, 1, prime=3), 3)]  # fmt: skip


def shuffled(laws):
    """The law of the multiset of all reports: what a shuffler lets out."""

    def joined(so_far, law):
        found = Counter()
        for held, chance in so_far.items():
            for report, share in law.items():
                found[tuple(sorted((*held, report)))] += chance * share
        return found

    return reduce(joined, laws, {(): 1.0})


def stick(one, two, epsilon):
    """sup over events of P(event) − e^ε·Q(event)."""
    return sum(max(chance - math.exp(epsilon) * two.get(key, 0.0), 0.0) for key, chance in one.items())


def worst(oracle, people):
    """For each ε the largest divergence over both sides of the first person and all that the others may have."""
    laws = [{report: float(share) for report, share in oracle.law(v).items()} for v in range(oracle.d)]
    most = dict.fromkeys(EPSILONS, 0.0)
    for others in itertools.combinations_with_replacement(range(oracle.d), people - 1):
        rest = [laws[v] for v in others]
        out = [shuffled([law, *rest]) for law in laws[:3]]  # all values are alike but for the others
        for one, two in itertools.permutations(out, 2):
            for epsilon in EPSILONS:
                most[epsilon] = max(most[epsilon], stick(one, two, epsilon))
    return most


@pytest.mark.parametrize(("oracle", "people"), SMALL, ids=lambda one: str(one))
def test_no_divergence_exceeds_the_bound(oracle, people):
    variation = Variation.of(oracle.epsilon, oracle.variation)
    for epsilon, found in worst(oracle, people).items():
        assert found <= central_delta(variation, people, epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(
    "oracle", [GRR(2, 1), GRR(3, 1), GRR(4, 1), SUE(2, 1), OUE(2, 1), SubsetSelection(4, 1)], ids=str
)
def test_parameters_that_are_cut_by_a_fifth_are_noticed(oracle):
    """At ε = 0 and one person δ is the total variation itself; with others, too much hiding is noticed."""
    cut = Variation(Variation.of(oracle.epsilon).ratio, 0.8 * float(oracle.variation))
    people = 3
    exact = worst(oracle, people)
    assert any(exact[epsilon] > central_delta(cut, people, epsilon) for epsilon in EPSILONS)
    ratio = Variation(math.exp(0.8 * float(oracle.epsilon)), float(oracle.variation))
    assert any(exact[epsilon] > central_delta(ratio, people, epsilon) for epsilon in EPSILONS)
    if oracle.name == "grr":
        whole = Variation.of(oracle.epsilon, oracle.variation)
        assert any(exact[epsilon] > central_delta(whole, 5 * people, epsilon) for epsilon in EPSILONS)


def test_variations_are_those_of_the_laws():
    """Every listed oracle that states one: the largest total variation between two values, exactly."""
    stated = set()
    for kind in ORACLES.values():
        for oracle in kind.listed():
            if oracle.variation is None:
                continue
            stated.add(kind.name)
            laws = list(itertools.islice(oracle.laws(), 3))
            if sum(map(len, laws)) > 3000:
                continue
            for one, two in itertools.combinations(laws, 2):
                gap = sum((abs(share - two[key]) for key, share in one.items()), Fraction(0)) / 2
                assert gap <= oracle.variation
                if kind is not OLH:  # with a small prime, some pairs collide more than others
                    assert gap == oracle.variation
    assert stated >= {"grr", "sue", "oue", "subset", "olh"}
