"""Audits of evaluations; confidence is 1 − 1e-8 each, so a false alarm has odds below 1e-6 for the file.

With fewer than 260 runs no event, however telling, could refute a claim of 1 at that confidence.
"""

import pytest

from discreet.audit import run_case

SURE = {"confidence": 1 - 1e-8, "seed": 5, "processes": 1}


@pytest.mark.parametrize(
    ("name", "samples"),
    [("private-evaluation-add-remove", 600), ("private-evaluation-replace", 600), ("holdout", 300),
     ("holdout-counts", 4000)],
)  # fmt: skip
def test_honest_ones_are_consistent(name, samples):
    assert not run_case(name, samples=samples, **SURE).violated


@pytest.mark.parametrize(
    "name",
    ["control-evaluation-half-noise", "control-holdout-by-position", "control-holdout-tests-training-rows"],
)
def test_controls_are_caught(name):
    assert run_case(name, **SURE).violated
