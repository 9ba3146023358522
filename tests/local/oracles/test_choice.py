"""The choice of an oracle: the lowest mean variance, said aloud."""

from __future__ import annotations

import pytest

from discreet.errors import SchemaError
from discreet.local.oracles import GRR, ORACLES, SubsetSelection, choose_oracle, make_oracle
from tests.local.oracles.common import KINDS


def test_every_oracle_is_known_by_name_and_code() -> None:
    assert [kind.code for kind in ORACLES.values()] == list(range(1, 9))
    assert list(ORACLES) == ["grr", "sue", "oue", "she", "the", "olh", "subset", "hadamard"]
    for name, kind in ORACLES.items():
        assert ORACLES.by_code(kind.code) is kind
        assert type(make_oracle(name, 5, 1)) is kind
    with pytest.raises(SchemaError, match="code 9"):
        ORACLES.by_code(9)
    with pytest.raises(SchemaError, match="no oracle is called"):
        make_oracle("rappor", 5, 1)
    with pytest.raises(SchemaError, match="theta"):
        make_oracle("oue", 5, 1, theta=0.5)
    assert make_oracle("the", 5, 1, theta=0.25).parameter == 250
    assert make_oracle("oue", 5, 1).parameter == 0


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1, 2, 4, 8])
@pytest.mark.parametrize("d", [2, 3, 4, 8, 20, 100, 1000])
def test_the_chosen_oracle_has_the_lowest_mean_variance(d, epsilon) -> None:
    choice = choose_oracle(d, epsilon)
    assert list(choice.variances.values()) == sorted(choice.variances.values())
    assert set(choice.variances) == set(ORACLES)
    least = min(kind(d, epsilon).variance(1, 1 / d) for kind in KINDS)
    assert choice.oracle.variance(1, 1 / d) <= least * (1 + 1e-9)
    assert repr(choice.oracle) in choice.sentence


def test_a_tie_goes_to_the_shorter_report() -> None:
    # Sets of one value are direct encoding: the same law in more bytes.
    assert SubsetSelection(30, 4).size == 1
    assert isinstance(choose_oracle(30, 4).oracle, GRR)


def test_small_domains_go_to_direct_encoding_and_larger_ones_to_subsets() -> None:
    assert isinstance(choose_oracle(2, 0.5).oracle, GRR)
    assert isinstance(choose_oracle(50, 1).oracle, SubsetSelection)
    oracle, variances = choose_oracle(12, 2)
    assert variances[oracle.name] == min(variances.values())


def test_the_mean_variance_does_not_depend_on_the_shares() -> None:
    for kind in KINDS:
        oracle = kind(8, 1)
        for shares in ([1] + [0] * 7, [0.125] * 8, [0.5, 0.3, 0.2, 0, 0, 0, 0, 0]):
            mean = sum(oracle.variance(10, share) for share in shares) / 8
            assert mean == pytest.approx(oracle.variance(10, 1 / 8), rel=1e-9)
