"""The audit of private answers: honest odds hold, odds for votes that only rise do not."""

import pytest

from discreet.audit.registry import Registry

# A sound case is called unsound in one of 10^8 runs at most. The control's answers have log-odds 2 apart where 1 is
# claimed, at chances of 0.03 and 0.2: 40,000 samples tell them apart but for far less than one run in a million.
SURE = {"confidence": 1 - 1e-8, "seed": 3, "processes": 1}


@pytest.fixture(scope="module")
def cases():
    registry = Registry()
    registry.discover(["discreet.answers.audits"])
    return registry


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_answers_hold(cases, adjacency):
    assert cases.case(f"private-answers-{adjacency}").run(samples=6000, **SURE).lower_bound <= 1.0


def test_odds_for_rising_votes_are_found_out(cases):
    assert cases.case("control-private-answers-monotone").run(**SURE).violated


@pytest.mark.parametrize(("name", "wrong"), [("private-answers-delta", False), ("control-private-answers-delta", True)])
def test_labels_under_a_delta(cases, name, wrong):
    """The control's bound is about 1.9 where 1 is claimed."""
    assert cases.case(name).run(**SURE).violated == wrong
