"""The audits of linear models: honest releases pass, each control is found out."""

import pytest

from discreet.linear.audits import audit_cases

CASES = audit_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_audit(case):
    # So few runs find gross leaks alone, as those of the other rooms do; the controls show what more of them find.
    samples = 1500 if case.name == "control-linear-one-step" else 600 if case.control else 300
    result = case.run(samples=samples, seed=7, confidence=1 - 1e-7, processes=1)
    assert (result.verdict == "violated") == case.control
