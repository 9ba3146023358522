"""The audit catches a column that is coded by its joint type, and finds nothing where each value stands for itself."""

from __future__ import annotations

from discreet.sources.audits import audit_cases

CASES = {case.name: case for case in audit_cases()}


def test_a_column_coded_by_its_joint_type_is_caught():
    # The table moves from (4, 3, 0) to (0, 0, 8): both noises would have to be off by several times their scale.
    result = CASES["control-joint-type"].run(seed=3)
    assert result.violated and result.lower_bound > 4.0, result


def test_values_that_stand_for_themselves_are_not():
    # The confidence is the false-alarm rate: 1e-7.
    result = CASES["mixed-column"].run(seed=4, confidence=1 - 1e-7)
    assert not result.violated, result
    assert result.lower_bound > 0.2  # the pair does show the one row
