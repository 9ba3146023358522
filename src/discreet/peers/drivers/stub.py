"""Driver that needs no library: randomised response that keeps its claim, one that does not, and one that fails."""

import math
import random

from serve import serve


def coin(epsilon, factor=1.0):
    """Say a bit truly with the odds e to the factor times epsilon."""
    truth = 1 / (1 + math.exp(-epsilon * factor))
    return lambda bit: [bit if random.random() < truth else 1 - bit]


def failing():
    """Raise what a library might."""
    raise ValueError("no such setting")


serve("numpy", {"coin": coin, "failing": failing})
