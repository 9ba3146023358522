"""The audit of the oracles: no claim is found violated, and the control is."""

from __future__ import annotations

import pytest

from discreet.local.oracles.audits import audit_cases

CASES = {case.name: case for case in audit_cases()}
SAMPLES = 40_000


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.control and "simulated" not in name])
def test_claims_hold(name) -> None:
    # 8 audits with an error rate of 3e-8 each.
    result = CASES[name].run(samples=SAMPLES, confidence=1 - 3e-8, seed=1)
    assert result.verdict != "violated"
    # The audit has power: it sees most of what is spent.
    assert result.lower_bound > (0.2 if name == "local-she" else 0.45)


def test_the_mix_up_of_two_oracles_is_found() -> None:
    assert CASES["control-mixed-unary"].run(samples=SAMPLES, confidence=1 - 1e-7, seed=1).verdict == "violated"
