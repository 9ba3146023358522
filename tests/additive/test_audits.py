"""The audits of additive models: honest releases pass, each control is found out."""

import pytest

from discreet.additive.audits import audit_cases

CASES = audit_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_audit(case):
    result = case.run(samples=600, seed=7, confidence=1 - 1e-7)
    assert (result.verdict == "violated") == case.control
