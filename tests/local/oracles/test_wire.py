"""Reports as bytes: they come back as they were, and bytes that no client writes are told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetError, DataError, SchemaError
from discreet.local.entropy import SystemSource
from discreet.local.oracles import GRR, OLH, OUE, SHE, THE, HadamardResponse, SubsetSelection
from tests.local.oracles.common import KINDS


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.integers(2, 300), st.floats(0.001, 20), st.integers(0, 40), st.randoms())
def test_reports_come_back_from_bytes(kind, d, epsilon, size, random) -> None:
    oracle = kind(d, round(epsilon, 6))
    values = np.array([random.randrange(d) for _ in range(size)], int)
    reports = oracle.perturb(values)
    raw = oracle.encode(reports)
    assert raw.dtype == np.uint8 and raw.shape == (size, oracle.width)
    back, fine = oracle.decode(raw)
    assert fine.all() and back.dtype == reports.dtype and np.array_equal(back, reports)
    support = oracle.support(reports)
    assert support.shape == (d,) and support.dtype == np.int64
    half = size // 2
    assert np.array_equal(support, oracle.support(reports[:half]) + oracle.support(reports[half:]))
    assert oracle.estimate(support, size).shape == (d,)
    assert oracle.simulate(np.bincount(values, minlength=d), np.random.default_rng(1)).shape == (d,)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(KINDS), st.integers(2, 70), st.floats(0.01, 20), st.randoms())
def test_single_draws_are_rows_of_batches(kind, d, epsilon, random) -> None:
    oracle = kind(d, round(epsilon, 6))
    value = random.randrange(d)
    batch = oracle.perturb([value])
    row = np.array([oracle.draw(value, SystemSource())]).astype(batch.dtype).reshape(batch.shape)
    back, fine = oracle.decode(oracle.encode(row))
    assert fine.all() and np.array_equal(back, row)


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(KINDS), st.integers(2, 40), st.floats(0.05, 8), st.data())
def test_any_bytes_are_read_or_refused_and_what_is_read_writes_the_same_bytes(kind, d, epsilon, data) -> None:
    oracle = kind(d, round(epsilon, 6))
    raw = data.draw(st.binary(min_size=oracle.width, max_size=oracle.width))
    table = np.frombuffer(raw, np.uint8).reshape(1, -1)
    reports, fine = oracle.decode(table)
    if fine[0]:
        assert oracle.encode(reports).tobytes() == raw
    oracle.support(reports)


@pytest.mark.parametrize(
    ("oracle", "raw"),
    [
        (GRR(5, 1), [5]),
        (GRR(300, 1), [44, 1]),
        (OUE(5, 1), [32]),
        (OUE(9, 1), [0, 2]),
        (THE(5, 1), [128]),
        (SubsetSelection(5, 1), [0]),
        (SubsetSelection(5, 1), [31]),
        (SubsetSelection(5, 1), [32]),
        (HadamardResponse(5, 1), [8]),
        (HadamardResponse(5, 1), [255]),
        (SHE(2, 1), [0x01, 0x04, 0, 0]),  # reach is 1,024
        (SHE(2, 1), [0, 0, 0x0F, 0xFC]),  # 15 − 1,024
        (OLH(5, 1), [0, 0, 0, 0, 0, 0, 0, 0, 0]),
        (OLH(5, 1), [0xFF, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0, 0]),
        (OLH(5, 1), [1, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0x7F, 0]),
        (OLH(5, 1), [1, 0, 0, 0, 0, 0, 0, 0, 4]),
    ],
)
def test_malformed_reports_are_told(oracle, raw) -> None:
    reports, fine = oracle.decode(np.array([raw], np.uint8))
    assert fine.tolist() == [False]
    assert len(reports) == 1


def test_the_extremes_of_noisy_histograms_are_well_formed() -> None:
    oracle = SHE(2, 1)
    edges = np.array([[oracle.low, oracle.high]], np.int32)
    back, fine = oracle.decode(oracle.encode(edges))
    assert fine.all() and np.array_equal(back, edges)


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_the_wrong_shape_are_refused(kind) -> None:
    oracle = kind(20, 1)
    wrong = np.full(3, 200, np.uint8) if kind in (GRR, HadamardResponse) else np.zeros((3, 2), np.float64)
    with pytest.raises(DataError):
        oracle.support(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_domains_and_budgets_out_of_range_are_refused(kind) -> None:
    for d in (0, 1, -3, 2.5, True, "4", (1 << 20) + 1):
        with pytest.raises(SchemaError):
            kind(d, 1)
    for epsilon in (0, -1, 31, float("inf"), float("nan"), "much", 1e-7, True):
        with pytest.raises(BudgetError):
            kind(4, epsilon)


@pytest.mark.parametrize("theta", [0, -0.5, 1.001, 0.0005, "x", float("nan"), [1], True])
def test_thresholds_out_of_range_are_refused(theta) -> None:
    with pytest.raises(SchemaError):
        THE(4, 1, theta=theta)


@pytest.mark.parametrize("kind", KINDS)
def test_constants_are_whole_numbers_or_their_text(kind) -> None:
    for d, epsilon in ((2, "1e-6"), (50, 1), (1000, 30)):
        for value in kind(d, epsilon).constants().values():
            for one in value if isinstance(value, list) else [value]:
                assert (isinstance(one, int) and abs(one) < 1 << 53) or (isinstance(one, str) and one.isdigit())
