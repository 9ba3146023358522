"""The audit of every registered mechanism: no claim is found violated, and every control is."""

from __future__ import annotations

import pytest

from discreet.local.audits import audit_cases
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import ORACLES

CASES = [case for case in audit_cases() if not case.name.startswith("local-client") and "simulated" not in case.name]
SAMPLES = 40_000
LEAKS = ("control-local-number-class-in-the-clear", "control-local-number-half-the-noise")
POWER = {"local-she": 0.2, **dict.fromkeys(LEAKS, 1.3), **{f"local-{name}": 0.45 for name in ORACLES if name != "she"}}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_audit_tells_sound_from_broken(case) -> None:
    """A sound case is flagged with chance 1e-8; a leak stays hidden far more rarely than that."""
    few = 20_000 if case.name.startswith("local-number") else SAMPLES
    result = case.run(samples=few, confidence=1 - 1e-8, seed=3)
    assert (result.verdict == "violated") == case.control
    # The audit has power: it sees much of what is spent, of unary oracles and small domains most.
    assert result.lower_bound > POWER.get(case.name, 1.0 if case.control else 0.05)


def test_every_mechanism_is_audited() -> None:
    names = {case.name for case in audit_cases()}
    assert {f"local-{name}{tail}" for name in ORACLES for tail in ("", "-simulated")} <= names
    assert {f"local-number-{name}" for name in NUMBERS} <= names
