"""The audit of the number mechanisms: sound ones stay below ε, the two broken schemes are found out."""

import pytest

from discreet.local.numbers.audits import audit_cases


@pytest.mark.parametrize("case", audit_cases(), ids=lambda case: case.name)
def test_the_audit_tells_sound_from_broken(case):
    """A sound case is flagged with chance 1e-8; a leak stays hidden far more rarely than that."""
    result = case.run(samples=40_000 if case.control else 20_000, seed=3, confidence=1 - 1e-8)
    assert result.violated == case.control
    assert result.lower_bound > (1.3 if case.control else 0.05)
