"""Shamir's secret sharing over the integers modulo 2^521 − 1, a Mersenne prime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

PRIME = 2**521 - 1
WIDTH = 66  # bytes of a share
SECRET = 32  # bytes of a secret
Entropy = Callable[[int], bytes]


def random_element(entropy: Entropy) -> int:
    """A uniform element of the field."""
    while True:
        value = int.from_bytes(entropy(WIDTH), "little") & PRIME
        if value != PRIME:  # the one word of 521 bits that is no element
            return value


def split(secret: bytes, points: Sequence[int], threshold: int, entropy: Entropy) -> list[bytes]:
    """One share per point; any `threshold` of them give the secret, fewer say nothing about it."""
    if (
        len(secret) != SECRET
        or not 1 <= threshold <= len(points)
        or len({p % PRIME for p in points} - {0}) != len(points)
    ):
        raise ValueError("a secret has 32 bytes, and points are different and not zero")
    coefficients = [random_element(entropy) for _ in range(threshold - 1)]
    shares = []
    for point in points:
        value = 0
        for coefficient in coefficients:
            value = (value + coefficient) * point % PRIME
        shares.append(((value + int.from_bytes(secret, "little")) % PRIME).to_bytes(WIDTH, "little"))
    return shares


def weights(points: Sequence[int]) -> list[int]:
    """What each share counts in the value at zero (Lagrange's interpolation)."""
    result = []
    for point in points:
        top = bottom = 1
        for other in points:
            if other != point:
                top, bottom = top * other % PRIME, bottom * (other - point) % PRIME
        result.append(top * pow(bottom, -1, PRIME) % PRIME)
    return result


def join(shares: Mapping[int, bytes], by_point: Mapping[int, int]) -> bytes | None:
    """The secret out of shares by point and their weights; None where the shares are of no secret."""
    total = sum(int.from_bytes(share, "little") * by_point[point] for point, share in shares.items()) % PRIME
    return total.to_bytes(SECRET, "little") if total < 2 ** (8 * SECRET) else None
