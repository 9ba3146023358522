"""Masked vectors look uniform, masks cancel, shares below the threshold say nothing.

Each statistical test rejects a sound implementation with probability 1e-8; there are fewer than ten of them.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from discreet.federated.secure import wire
from discreet.federated.secure.masks import agree, expand, public_of
from discreet.federated.secure.shamir import PRIME, WIDTH, join, random_element, split, weights
from tests.federated.secure.helpers import advance, setting

ALARM = 1e-8


def masked_inputs(count, length, seed=0):
    _, nodes, coordinator, held, _ = setting(count, length=length, seed=seed)
    advance(nodes, coordinator, "share list")
    words = {}
    for name in coordinator.awaiting:
        (blob,) = wire.decode(nodes[name].answer(coordinator.message(name)), "masked", 1)
        words[name] = np.frombuffer(blob, "<u8")
    return words, held


def test_one_masked_vector_alone_looks_uniform():
    words, held = masked_inputs(3, 40_000)
    for vector in words.values():
        octets = np.bincount(np.frombuffer(vector.tobytes(), np.uint8), minlength=256)
        assert chisquare(octets).pvalue > ALARM
        assert kstest(vector / 2**64, "uniform").pvalue > ALARM
    raw = np.frombuffer(held[next(iter(held))].tobytes(), np.uint8)  # the test can fail: bare values do not pass
    assert chisquare(np.bincount(raw, minlength=256)).pvalue < ALARM


def test_masked_vectors_of_the_same_values_share_nothing_and_two_of_three_do_not_add_up():
    first, _ = masked_inputs(3, 20_000, seed=1)
    second, _ = masked_inputs(3, 20_000, seed=1)
    for name in first:
        difference = first[name] - second[name]
        assert kstest(difference / 2**64, "uniform").pvalue > ALARM
    for pair in combinations(first, 2):
        assert kstest((first[pair[0]] + first[pair[1]]) / 2**64, "uniform").pvalue > ALARM


def test_both_sides_of_a_pair_derive_the_same_key_and_other_contexts_others():
    one, two = bytes(range(32)), bytes(range(32, 64))
    key = agree(one, public_of(two), b"mask", b"round", "a", "b")
    assert key == agree(two, public_of(one), b"mask", b"round", "b", "a")
    others = [
        agree(one, public_of(two), b"share", b"round", "a", "b"),
        agree(one, public_of(two), b"mask", b"other", "a", "b"),
        agree(one, public_of(two), b"mask", b"round", "a", "c"),
    ]
    assert len({key, *others}) == 4
    assert np.array_equal(expand(key, 5), expand(key, 9)[:5])


@pytest.mark.parametrize("threshold", [1, 2, 3, 5])
def test_any_threshold_of_shares_gives_the_secret(threshold):
    secret, points = bytes(range(32)), [1, 2, 5, 9, 10]
    shares = dict(zip(points, split(secret, points, threshold, np.random.default_rng(1).bytes), strict=True))
    for chosen in combinations(points, threshold):
        counts = dict(zip(chosen, weights(chosen), strict=True))
        assert join({point: shares[point] for point in chosen}, counts) == secret
        if threshold > 1:
            short = chosen[1:]
            counts = dict(zip(short, weights(short), strict=True))
            assert join({point: shares[point] for point in short}, counts) != secret


def test_shares_below_the_threshold_fit_every_secret():
    """Two of three shares at threshold three: for any secret there is a polynomial, so they exclude none."""
    shares = split(bytes(32), [1, 2, 3], 3, np.random.default_rng(2).bytes)
    one, two = (int.from_bytes(share, "little") for share in shares[:2])
    for secret in (0, 1, 12345, 2**256 - 1):
        # The parabola through (0, secret), (1, one), (2, two): its leading coefficient is some element of the field.
        leading = (two - 2 * one + secret) * pow(2, -1, PRIME) % PRIME
        linear = (one - secret - leading) % PRIME
        assert (secret + 2 * linear + 4 * leading) % PRIME == two


def test_field_elements_are_uniform_and_bad_sharing_is_refused():
    source = iter([b"\xff" * WIDTH, bytes([1]) + bytes(WIDTH - 1)])
    assert random_element(lambda size: next(source)) == 1  # 2^521 − 1 is no element and is drawn again
    assert pow(3, PRIME - 1, PRIME) == 1
    for points, threshold in (([0, 1], 1), ([1, 1], 1), ([1, 2], 3)):
        with pytest.raises(ValueError):
            split(bytes(32), points, threshold, np.random.default_rng(0).bytes)
