"""Audits of networks: honest releases are consistent, and noise for one row is flagged where a row is replaced.

Confidence is 1 − 1e-8 per audit: a false alarm on an honest case has odds below 1e-6 for the whole file.
The controls' bounds are about 1.6 (joint) and 1.4 (tan), with deviations of 0.06 and 0.07 against a claim of 1; the
honest bounds are above 0.6 with deviations below 0.065 against 0.2: a miss of either is five deviations away or more.
"""

import pytest

from discreet.audit import run_case

SURE = {"confidence": 1 - 1e-8, "seed": 5, "processes": 1}


@pytest.mark.parametrize(
    "name", ["joint-histogram-add-remove", "joint-histogram-replace", "tan-add-remove", "tan-replace"]
)
def test_honest_releases_are_consistent(name):
    result = run_case(name, **SURE)
    assert not result.violated
    assert result.lower_bound > 0.2


@pytest.mark.parametrize("name", ["control-joint-replaced-row", "control-tan-replaced-row"])
def test_controls_are_flagged(name):
    assert run_case(name, **SURE).violated
