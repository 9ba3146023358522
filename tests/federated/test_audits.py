"""The audit finds nothing in a sum of enough shares, and finds one share alone or too few of them.

Confidence is 1 − 1e-8 per audit, so that honest cases give a false alarm in under 1e-6 of the runs.
"""

import pytest

from discreet.federated.audits import audit_cases

CASES = {case.name: case for case in audit_cases()}
SURE = {"confidence": 1 - 1e-8, "seed": 3, "processes": 1}


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.control])
def test_honest_sums_hold_their_claim(name):
    samples = 4_000 if name == "share-sum-laplace" else 40_000
    assert not CASES[name].run(samples=samples, **SURE).violated


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.control])
def test_controls_are_flagged(name):
    assert CASES[name].run(samples=40_000, **SURE).violated
