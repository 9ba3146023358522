"""Audits of trees and choices: broken releases are flagged; the honest ones are audited with those of other rooms."""

import pytest

from discreet.audit import run_case

SURE = {"confidence": 1 - 1e-8, "seed": 5, "processes": 1}


@pytest.mark.parametrize(
    ("name", "claim", "samples"),
    [
        ("control-tree-replaced-row", 2.0, 4_000),  # they spend twice the claim, which shows best at a claim of 2:
        ("control-forest-replaced-row", 2.0, 4_000),  # 3,000 runs have bounds of 2.46 and 2.7
        ("control-tree-delta-levels", 1.0, 6_000),  # bounds of 1.13 at 3,000 and 1.39 at 8,000 samples
        ("control-choice-monotone", 1.0, None),
    ],
)
def test_controls_are_flagged(name, claim, samples):
    assert run_case(name, claim, samples, **SURE).violated
