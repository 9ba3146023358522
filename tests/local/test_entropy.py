"""Even draws from words: what is left over of 2⁶⁴ is thrown away, so that no number is favoured."""

import numpy as np
import pytest

from discreet.local import entropy
from discreet.local.entropy import GivenSource, below


@pytest.mark.parametrize("size", [3, 10, (1 << 63) + 1])
def test_the_rest_of_the_division_is_drawn_again(size):
    rest = (1 << 64) % size
    words = [(1 << 64) - 1, (1 << 64) - rest, 7]  # both lie in the rest
    source = GivenSource(b"".join(word.to_bytes(8, "little") for word in words))
    assert below(source, size) == 7 % size and source.used == 24
    last = (1 << 64) - rest - 1  # the last that counts
    assert below(GivenSource(last.to_bytes(8, "little")), size) == size - 1


def test_many_draws_throw_the_rest_away_too(monkeypatch):
    given = iter(
        [np.array([(1 << 64) - 1, 5], np.uint64), np.array([(1 << 64) - 1], np.uint64), np.array([8], np.uint64)]
    )
    monkeypatch.setattr(entropy, "words", lambda size, rng=None: next(given))
    assert entropy.evenly(2, 3, None).tolist() == [2, 2]
