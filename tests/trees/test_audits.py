"""Audits of trees and choices: honest releases are consistent, broken ones are flagged.

Confidence is 1 − 1e-8 per audit: a false alarm on an honest case has odds below 1e-6 for the whole file.
"""

import pytest

from discreet.audit import run_case

SURE = {"confidence": 1 - 1e-8, "seed": 5}


@pytest.mark.parametrize(
    "name",
    ["tree-add-remove", "tree-replace", "forest-add-remove", "forest-labels-replace", "choice-permute-and-flip"],
)
def test_honest_releases_are_consistent(name):
    result = run_case(name, samples=1_000, **SURE)
    assert not result.violated
    assert result.lower_bound >= 0


@pytest.mark.parametrize(
    "name", ["control-tree-replaced-row", "control-forest-replaced-row", "control-choice-monotone"]
)
def test_controls_are_flagged(name):
    assert run_case(name, **SURE).violated
