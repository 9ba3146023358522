"""Audits of networks: honest releases are consistent, broken ones are flagged.

Confidence is 1 − 1e-8 per audit: a false alarm on an honest case has odds below 1e-6 for the whole file.
The controls' lower bound is 2.2 with a deviation of 0.12 against a claim of 1: ten deviations, so a miss is as rare.
"""

import pytest

from discreet.audit import run_case

SURE = {"confidence": 1 - 1e-8, "seed": 5}


@pytest.mark.parametrize(
    "name", ["joint-histogram-add-remove", "joint-histogram-replace", "tan-add-remove", "tan-replace"]
)
def test_honest_releases_are_consistent(name):
    result = run_case(name, samples=200, **SURE)
    assert not result.violated
    assert result.lower_bound >= 0


@pytest.mark.parametrize("name", ["control-joint-replaced-row", "control-tan-replaced-row"])
def test_controls_are_flagged(name):
    assert run_case(name, **SURE).violated
