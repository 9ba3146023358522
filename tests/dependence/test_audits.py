"""Audits of networks: honest releases are consistent, and noise for one row is flagged where a row is replaced.

Confidence is 1 − 1e-8 per audit: a false alarm on an honest case has odds below 1e-6 for the whole file.
Networks of K-norm tables are audited at a claim of 3, where fewer runs tell as much. The controls' bounds are about
1.6 where 1 is claimed (joint, deviation 0.06) and 3.6 where 3 is (tan, 0.1); the honest bounds are above 0.6 against
0.2 (joint, 0.065) and above 1.8 against 0.6 (tan, 0.15): a miss of any is five deviations away or more.
"""

import pytest

from discreet.audit import run_case

SURE = {"confidence": 1 - 1e-8, "seed": 5, "processes": 1}


@pytest.mark.parametrize(
    ("name", "claim", "samples"),
    [
        pytest.param("joint-histogram-add-remove", 1.0, None, marks=pytest.mark.slow),  # watched fits have both
        ("joint-histogram-replace", 1.0, None),
        pytest.param("tan-add-remove", 3.0, 3000, marks=pytest.mark.slow),
        ("tan-replace", 3.0, 3000),
    ],
)
def test_honest_releases_are_consistent(name, claim, samples):
    result = run_case(name, claim, samples, **SURE)
    assert not result.violated
    assert result.lower_bound > 0.2 * claim


@pytest.mark.parametrize(
    ("name", "claim", "samples"), [("control-joint-replaced-row", 1.0, None), ("control-tan-replaced-row", 3.0, 5000)]
)
def test_controls_are_flagged(name, claim, samples):
    assert run_case(name, claim, samples, **SURE).violated


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("joint-histogram-gaussian", False), ("control-joint-gaussian-third", True),
        ("tan-gaussian", False), ("control-tan-gaussian-quiet", True),
    ],
)  # fmt: skip
def test_gaussian_tables_at_a_third_or_a_quarter_of_the_deviation(name, wrong):
    """The controls' bounds are about 1.4 where 1 is claimed, give or take 0.1."""
    assert run_case(name, 1.0, None if wrong else 500, **SURE).violated == wrong
