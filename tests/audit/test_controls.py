"""Every broken mechanism is caught with default settings, and its repaired twin is not."""

import pytest

from discreet.audit import audit
from discreet.audit.controls import (
    ChoiceByPosition,
    ClassByClass,
    ClassesFromData,
    FloatingLaplace,
    LocalMaximum,
    RefusedRows,
    RepeatedSeed,
    ShortNoise,
    UncentredSums,
    audit_cases,
)
from tests.clock import work_seconds

CASES = {case.name: case for case in audit_cases()}
AT_LEAST = {"control-uncentred-sums": 4.0, "control-class-by-class": 1.8, "control-short-noise": 1.3}
EVIDENCE = {
    "control-floating-laplace": "grid",
    "control-classes-from-data": "'c'",
    "control-repeated-seed": "output[0] - output[1]",
}
TWINS = {
    "control-short-noise": lambda e: ShortNoise(e, factor=1.0),
    "control-local-maximum": lambda e: LocalMaximum(e, bound=10.0),
    "control-class-by-class": lambda e: ClassByClass(e, moved=2),
    "control-uncentred-sums": lambda e: UncentredSums(e, centred=True),
    "control-classes-from-data": lambda e: ClassesFromData(e, classes=("a", "b", "c")),
    "control-floating-laplace": lambda e: FloatingLaplace(e, grid=2.0**-10),
    "control-repeated-seed": lambda e: RepeatedSeed(e, repeated=False),
    "control-refused-rows": lambda e: RefusedRows(e, absorbs=True),
    "control-choice-by-position": lambda e: ChoiceByPosition(e, drawn=True),
}


@pytest.mark.parametrize("name", CASES)
def test_control_is_flagged(name):
    # Over 60 seeds the means lie 6.7 standard deviations or more above these limits: chance < 1e-6.
    began = work_seconds()
    result = CASES[name].run(seed=11)
    assert CASES[name].control
    assert result.violated, result
    assert result.lower_bound > AT_LEAST.get(name, 4.0)
    assert EVIDENCE.get(name, "") in result.event
    assert work_seconds() - began < 20


@pytest.mark.parametrize("name", CASES)
def test_repaired_twin_is_not_flagged(name):
    # The confidence is the false-alarm rate: 1e-7 for each of nine twins.
    case = CASES[name]
    result = audit(TWINS[name](1.0), case.pairs(1.0), 1.0, samples=60_000, seed=12, confidence=1 - 1e-7)
    assert not result.violated, result
    # The pair does show something: the weakest twin gives 0.41 with standard deviation 0.01. A row that is left out
    # shows nothing at all.
    assert result.lower_bound > 0.2 or name == "control-refused-rows"


def test_a_flaw_shows_at_other_claims_too():
    for epsilon in (0.2, 3.0):
        # At 0.2 the bound is 0.31 with standard deviation 0.02, at 3 it is 5.8 with 0.1.
        assert CASES["control-class-by-class"].run(epsilon, seed=13).violated


def test_names_and_notes_are_complete():
    assert set(TWINS) == set(CASES)
    assert all(case.note and case.adjacency in ("add-remove", "replace") for case in CASES.values())
