"""Encoding, malformed bytes, sizes and bad input of the number mechanisms."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import BudgetError, DataError, SchemaError
from discreet.local.entropy import GivenSource, SystemSource
from discreet.local.numbers import (
    NUMBERS,
    Hybrid,
    Laplace,
    LaplaceAll,
    LaplaceSampled,
    OneBit,
    OneBitSampled,
    Piecewise,
    best_oracle,
    make_number,
)
from discreet.local.numbers.base import joined, split, split_sum
from discreet.local.oracles import GRR, SHE
from discreet.local.wire.integers import signed_from, signed_width, to_bytes

KINDS = [LaplaceSampled, OneBit, OneBitSampled, Piecewise, Hybrid]


def test_names_and_codes_are_those_of_the_wire():
    codes = {name: kind.code for name, kind in NUMBERS.items()}
    assert codes == {
        "laplace": 16,
        "one-bit": 17,
        "piecewise": 18,
        "hybrid": 19,
        "laplace-all": 20,
        "one-bit-sampled": 21,
    }


@settings(max_examples=60, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    classes=st.integers(1, 300),
    half=st.sampled_from([1, 3, 1000, 1 << 16, 1 << 40]),
    epsilon=st.sampled_from(["0.001", "0.3", "1", "5", "30"]),
    data=st.data(),
)
def test_reports_survive_their_bytes(kind, classes, half, epsilon, data):
    mechanism = kind(classes, half, epsilon)
    size = data.draw(st.integers(0, 5))
    labels = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=size, max_size=size)), np.int64)
    points = np.array(data.draw(st.lists(st.integers(-half, half), min_size=size, max_size=size)), np.int64)
    reports = mechanism.perturb(labels, points)
    raw = mechanism.encode(reports)
    again, fine = mechanism.decode(raw)
    assert raw.shape == (size, mechanism.width) and fine.all() and np.array_equal(again, reports)
    assert np.array_equal(
        mechanism.support(reports[: size // 2]) + mechanism.support(reports[size // 2 :]), mechanism.support(reports)
    )
    assert mechanism.estimate(mechanism.support(reports), size).shape == (classes,)
    label, point = data.draw(st.integers(0, classes - 1)), data.draw(st.integers(-half, half))
    drawn = mechanism.draw(label, point, SystemSource())
    payload = np.frombuffer(mechanism.packed(drawn), np.uint8)[None]
    found, fine = mechanism.decode(payload)
    assert fine.all() and tuple(np.ravel(found[0]).tolist()) == drawn


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(KINDS), classes=st.sampled_from([1, 3, 300]), seed=st.integers(0, 2**32 - 1))
def test_any_bytes_decode_to_a_report_or_are_refused(kind, classes, seed):
    mechanism = kind(classes, 1000, "2")
    raw = np.random.default_rng(seed).integers(0, 256, (50, mechanism.width), dtype=np.uint8)
    reports, fine = mechanism.decode(raw)
    assert np.array_equal(mechanism.encode(reports[fine]), raw[fine])
    mechanism.support(reports)  # refused ones stand as zeros and break nothing


@pytest.mark.parametrize("kind", KINDS)
def test_support_is_the_same_in_every_batching(kind):
    """Collectors that merge must hold the same integers, not only the same estimates; signs are mixed on purpose."""
    rng = np.random.default_rng(17)
    mechanism = kind(2, 1000, 2)
    reports = mechanism.perturb(rng.integers(0, 2, 400), rng.integers(-1000, 1001, 400), rng=rng)
    whole = mechanism.support(reports)
    for cut in (1, 7, 133):
        batches = [reports[i : i + cut] for i in range(0, 400, cut)]
        assert np.array_equal(sum(mechanism.support(batch) for batch in batches), whole)


def test_malformed_bytes_are_refused():
    def refused(mechanism, rows):
        return (~mechanism.decode(np.array(rows, np.uint8))[1]).tolist()

    laplace = LaplaceSampled(1, 1000, 1)
    top = laplace.coordinate.limit
    beyond = [x.to_bytes(laplace.width, "little", signed=True) for x in (top, -top, top + 1, -top - 1)]
    assert refused(laplace, [list(one) for one in beyond]) == [False, False, True, True]
    piecewise = Piecewise(3, 1000, 1)
    ends = [x.to_bytes(2, "little", signed=True) for x in (piecewise.limit, piecewise.limit + 1, -piecewise.limit - 1)]
    rows = [[0, *ends[0]], [2, *ends[0]], [3, *ends[0]], [0, *ends[1]], [0, *ends[2]]]
    assert refused(piecewise, rows) == [False, False, True, True, True]
    sampled = OneBitSampled(2, 1000, 1)
    assert refused(sampled, [[1, 1], [1, 255], [2, 1], [1, 0], [1, 2]]) == [False, False, True, True, True]
    hybrid = Hybrid(2, 1000, 1)
    rows = [[1, 0, 1, 0], [1, 0, 2, 0], [1, 1, 2, 0], [1, 2, 1, 0], [2, 0, 1, 0]]
    assert refused(hybrid, rows) == [False, True, False, True, True]
    assert refused(Hybrid(2, 1000, "0.5"), [[1, 0, 1, 0], [1, 1, 1, 0]]) == [False, True]  # piecewise is never chosen
    one_bit = OneBit(2, 1000, 1)
    assert refused(one_bit, [[3], [4]]) == [False, True]


def test_the_least_number_of_all_is_refused():
    mechanism = LaplaceSampled(1, 1 << 40, "0.001")
    assert mechanism.width == 8
    raw = np.array([list((-(1 << 63)).to_bytes(8, "little", signed=True))], np.uint8)
    assert not mechanism.decode(raw)[1].any()


@settings(deadline=None)
@given(st.lists(st.integers(-(1 << 55), 1 << 55), min_size=1))
def test_signed_numbers_as_bytes(values):
    width = signed_width(max(abs(v) for v in values))
    raw = to_bytes(values, width)
    assert signed_from(raw).tolist() == values
    assert raw.tobytes() == b"".join(v.to_bytes(width, "little", signed=True) for v in values)


def test_sums_of_huge_reports_do_not_wrap():
    rows = np.full((1 << 12, 2), [(1 << 62) - 1, -(1 << 62)], np.int64)
    part = split_sum(rows)
    whole = part * (1 << 18)  # as 2³⁰ reports would add up
    assert joined(whole) == [((1 << 62) - 1) << 30, -(1 << 92)]
    assert joined(split([5, -7, 1 << 80])) == [5, -7, 1 << 80]
    mechanism = LaplaceSampled(2, 1 << 40, 1)
    support = mechanism.support(np.full((1 << 12, 2), [1 << 41, -(1 << 41)], np.int64)) * (1 << 18)
    assert mechanism.estimate(support, 1 << 30).tolist() == [2.0**71, -(2.0**71)]


@pytest.mark.parametrize("kind", [Laplace, OneBit, OneBitSampled, Piecewise, Hybrid])
def test_plain_numbers_need_no_class(kind):
    """40,000 numbers: the mean within 5.9 deviations, a false alarm below 4e-9."""
    rng, size = np.random.default_rng(7), 40_000
    values = rng.beta(2, 5, size) * 2 - 1
    mechanism = kind(1, 1 << 16, 1)
    points = mechanism.points(values)
    reports = mechanism.perturb(np.zeros(size, np.int64), points, rng=rng)
    deviation = math.sqrt(mechanism.variance(size, 1.0, float((points.astype(float) ** 2).mean()))) / (size << 16)
    assert abs(mechanism.mean(reports) - values.mean()) < 5.9 * deviation + 1 / (1 << 17)
    assert mechanism.points([-5.0, 5.0]).tolist() == [-(1 << 16), 1 << 16]
    with pytest.raises(DataError, match="NaN"):
        mechanism.points([math.nan])
    with pytest.raises(DataError, match="no reports"):
        mechanism.mean(reports[:0])
    with pytest.raises(DataError, match="classes=1"):
        kind(2, 10, 1).mean(reports)


@pytest.mark.parametrize("kind", KINDS)
def test_bad_input_gets_one_sentence(kind):
    for classes, half in [(0, 5), (True, 5), (2, 0), (2, 1.5), (2, (1 << 40) + 1), (1 << 20, 5)]:
        with pytest.raises(SchemaError, match="whole number"):
            kind(classes, half, 1)
    for epsilon in (0, -1, 31, math.nan, "x"):
        with pytest.raises(BudgetError, match="epsilon"):
            kind(2, 5, epsilon)
    mechanism = kind(2, 5, 1)
    cases = [([0, 2], [0, 0]), ([-1], [0]), ([0], [6]), ([0], [-6]), ([0, 1], [1]), ([0.0], [1]), ([0], [1.0])]
    for labels, points in cases:
        with pytest.raises(DataError):
            mechanism.perturb(labels, points)
    with pytest.raises(DataError):
        mechanism.draw(0, 1, GivenSource(b"12345678"))


def test_noise_that_does_not_fit_is_refused():
    with pytest.raises(BudgetError, match="64 bits"):
        LaplaceSampled(2, 1 << 40, "1e-6")
    with pytest.raises(DataError, match="no numbers"):
        LaplaceAll(2, (), 1)
    with pytest.raises(DataError, match="row of 2"):
        LaplaceAll(2, (3, 4), 1).perturb([0], [1])
    with pytest.raises(SchemaError, match="choose one of"):
        make_number("none", 2, (5,), 1)
    with pytest.raises(SchemaError, match="one number"):
        make_number("laplace", 2, (5, 6), 1)
    assert make_number("laplace-all", 2, (5, 6), 1).n == 2


def test_all_numbers_survive_their_bytes():
    mechanism = LaplaceAll(3, (1, 1 << 40), 1)
    reports = mechanism.perturb([0, 2], [[1, 1 << 40], [-1, -(1 << 40)]])
    raw = mechanism.encode(reports)
    again, fine = mechanism.decode(raw)
    assert fine.all() and np.array_equal(again, reports) and raw.shape == (2, mechanism.width)
    raw[0, mechanism.runs[0].each - 1] = 127
    assert mechanism.decode(raw)[1].tolist() == [False, True]


@pytest.mark.parametrize("name", NUMBERS)
def test_constants_are_json_without_large_numbers(name):
    mechanism = make_number(name, 2, (1 << 40,), 1)

    def numbers(value):
        if isinstance(value, dict):
            return [n for one in value.values() for n in numbers(one)]
        if isinstance(value, list):
            return [n for one in value for n in numbers(one)]
        return [value] if not isinstance(value, str) else []

    found = json.loads(json.dumps(mechanism.constants()))
    assert all(isinstance(n, int) and abs(n) < 1 << 53 for n in numbers(found))


def test_the_class_and_coin_are_drawn_before_the_row_matters():
    """The first word (two for the hybrid) alone decides the drawn class and the kind."""
    raw = SystemSource()
    for mechanism, fixed in ((Piecewise(3, 9, 1), 1), (OneBitSampled(3, 9, 1), 1), (Hybrid(3, 9, 1), 2)):
        for _ in range(20):
            given = b"".join(raw.word().to_bytes(8, "little") for _ in range(40))
            pairs = [(0, -9), (1, 4), (2, 9)]
            assert len({mechanism.draw(*pair, GivenSource(given))[:fixed] for pair in pairs}) == 1


def test_one_bit_takes_only_oracles_whose_variance_is_known():
    with pytest.raises(SchemaError, match="grr or sue or oue, not by she"):
        OneBit(2, 5, 1, SHE)
    assert best_oracle(3, 1, [GRR]) is GRR
