"""The tables of one class, as the exact sampler returns them: every block carries its part of one K-norm draw."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.mechanisms import noise
from discreet.mechanisms.knorm import KNorm
from discreet.mechanisms.noise import ExactSampler, SimulationSampler


@pytest.mark.parametrize("sampler", [ExactSampler(), SimulationSampler(0)])
def test_tables_are_what_they_were_plus_one_draw_at_the_rate_asked_for(monkeypatch, sampler):
    asked, drawn = [], []

    class Watched(KNorm):
        def draw(self, rate, coins):
            asked.append((tuple(self.sizes), rate))
            drawn.append(super().draw(rate, coins))
            return drawn[-1]

    monkeypatch.setattr(noise, "KNorm", Watched)
    blocks = [np.array([5, 7]), np.array([3, 4, 5])]
    noisy = sampler.tables([block.copy() for block in blocks], Fraction(1, 3))
    assert asked == [((2, 3), Fraction(1, 3))]
    for before, after, extra in zip(blocks, noisy, drawn[0], strict=True):
        assert np.array_equal(after, before + extra)
    assert len({int((after - before).sum()) for before, after in zip(blocks, noisy, strict=True)}) == 1
