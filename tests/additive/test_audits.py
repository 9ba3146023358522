"""The audits of additive models: honest releases pass, each control is found out."""

import pytest

from discreet.additive.audits import audit_cases

# One adjacency of each kind of release in each run: tests/additive/test_watched.py watches both.
SLOW = {
    "additive-2-classes-replace", "additive-3-classes-add-remove", "additive-normal-2-classes-replace",
    "additive-shapes-add-remove",
}  # fmt: skip
CASES = [pytest.param(case, marks=pytest.mark.slow if case.name in SLOW else ()) for case in audit_cases()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_audit(case):
    # So few runs find gross leaks alone, as those of the other rooms do; the controls show what 600 find.
    result = case.run(samples=600 if case.control else 300, seed=7, confidence=1 - 1e-7, processes=1)
    assert (result.verdict == "violated") == case.control
