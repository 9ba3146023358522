"""Audits of searches; confidence is 1 − 1e-8 each, so a false alarm has odds below 1e-6 for the file."""

import pytest

from discreet.audit import run_case

SURE = {"confidence": 1 - 1e-8, "seed": 5, "processes": 1}


@pytest.mark.parametrize(("name", "samples"), [("random-stopping", 2000), ("search-holdout", 300)])
def test_honest_searches_are_consistent(name, samples):
    assert not run_case(name, samples=samples, **SURE).violated


def test_the_best_of_many_runs_at_the_cost_of_one_is_flagged():
    assert run_case("control-best-run-charged-once", **SURE).violated
