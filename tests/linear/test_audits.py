"""The audits of linear models: honest releases pass, each control is found out."""

import pytest

from discreet.linear.audits import audit_cases

CASES = audit_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_audit(case):
    # So few runs find gross leaks alone, as those of the other rooms do; the controls show what 1,500 find.
    result = case.run(samples=1500 if case.control else 600, seed=7, confidence=1 - 1e-7)
    assert (result.verdict == "violated") == case.control
