"""Bands: how much the noise of a fit makes shapes err at most, from what the model file says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.blocks import Blocks
from discreet.additive.penalty import Chain, make_chain
from discreet.errors import ModelError

Floats = NDArray[np.float64]


def checked_noise(blocks: Blocks, noise: Any) -> tuple[dict[str, Any], ...]:
    """Refuse noise that does not fit the blocks: files may come from anyone. A first fit has no pairs."""
    if not isinstance(noise, Sequence) or len(noise) > 2:
        raise ModelError("what the model says of its noise is damaged")
    single = len(blocks.sizes) - len(blocks.pairs)
    for one in noise:
        lines = [np.asarray(one[name], np.float64) for name in ("cells", "strengths")]
        fits = all(line.shape in {(single,), (len(blocks.sizes),)} and np.isfinite(line).all() for line in lines)
        if not fits or len({line.shape for line in lines}) > 1 or lines[0].min() < 0 or lines[1].min() <= 0:
            raise ModelError("what the model says of its noise does not fit its blocks")
        if isinstance(one["final"], bool) or not 0 <= float(one["final"]) < 1e150:
            raise ModelError("what the model says of its last step is damaged")
    return tuple(noise)


def variances(blocks: Blocks, noise: dict[str, Any], mixes: Any) -> Floats:
    """The variances of mixes of weights −Γ⁻¹b, where no row holds a block in its place against the noise b."""
    chain = make_chain(blocks, [*noise["strengths"], *[1.0] * (len(blocks.sizes) - len(noise["cells"]))], 1.0)
    total = np.asarray(mixes.multiply(mixes).sum(axis=1)) * float(noise["final"]) ** 2
    columns = mixes.tocsc()
    parts = zip(blocks.starts, blocks.sizes, blocks.ordered, noise["cells"], noise["strengths"], strict=False)
    for start, size, line, cell, strength in parts:
        mixed = columns[:, start : start + size]
        if mixed.nnz and line > 1:
            block = slice(start, start + size)
            penalty = Chain(chain.pull[block], chain.link[block]).matrix()
            total += cell * np.square(np.linalg.solve(penalty, mixed.toarray().T)).sum(axis=0)
        elif mixed.nnz:
            total += cell / strength**2 * np.asarray(mixed.multiply(mixed).sum(axis=1))
    return total
