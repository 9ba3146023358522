"""Shrinkage: what each cell says about the class, as far as it can be told from the noise (empirical Bayes).

Two unknowns stand behind a cell: its share q of all rows, and the log-odds β of a class in it beside the odds of that
class at large. β has a normal prior whose width is inferred for each feature from all its cells, so that a feature that
is all noise gets a width near zero and says next to nothing. Along the bins of a number β is a chain: neighbours are
alike, as far as the counts do not speak against it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.denoising.chain import cavities, chains
from discreet.bayes.denoising.tables import NoisyTable

Floats = NDArray[np.float64]
ODDS = 0.8 * np.sinh(np.linspace(-3, 3, 61))  # a grid for β, finer near zero
WIDTHS = np.array([0.02, 0.1, 0.2, 0.4, 0.7, 1.1, 1.7, 2.5, 4.0])  # of the prior of β, all equally likely
NEAR, FAR = 0.3, 0.6  # how far chains remember, as a share of all bins
OWN = 0.1  # of a chain's variance is each bin's own, or nothing of it: four chains in all, equally likely
FEWEST = 3  # bins that make a chain: of two, whose β are tied by the class's rows, one would pull the other wrong
CLEAR = 2  # the narrowest of the widths whose prior the grid for β resolves
BLUNT = 4  # the widest by whose prior what counts of a cell say is taken for a normal likelihood (see `_chained`)
# Of chains of shares: deviations, as multiples of an even share, memories, and deviations of each bin's own.
SHARES = (
    (0.3, 1.0, 2.0, 4.0),
    (0.05, 0.15, 0.6),
    (0.05, 0.5, 2.0, 8.0),
)
POINTS, REACH = 15, 4.5  # of a grid for q, and how many standard deviations it reaches
NARROW = 0.25  # log-odds known this well are no longer looked for on the grid
LARGE = 1e15  # deviations of noise beyond which nothing can be told
CHUNK = 32  # cells whose grids are looked at together, in a core's own cache
MANY = 4096  # cells among which like ones are looked for
ROOM = 1 << 17  # cells of classes that are read together
_STEPS = np.linspace(0, 1, POINTS)
_PRIOR = np.exp(-0.5 * (ODDS / WIDTHS[:, None]) ** 2) * np.gradient(ODDS)
_PRIOR = (_PRIOR / _PRIOR.sum(axis=1, keepdims=True)).T


def shrunk(tables: Sequence[NoisyTable], plain: Sequence[Floats], rows: Floats) -> list[Floats]:
    """log P(cell | class), read with shrinkage; `plain` are readings without, towards which it tends as noise fades.

    `rows` are the rows of each class, none zero. Bins of a number are read along a chain, other cells each on its own.
    """
    shares, scores = rows / rows.sum(), _scores(tables, rows)
    return [_read(*each, shares, float(rows.sum())) for each in zip(tables, scores, plain, strict=True)]


def _read(table: NoisyTable, scores: Floats, plain: Floats, shares: Floats, rows: float) -> Floats:
    """The laws of the cells that go with these log-odds."""
    marginal = _marginal(table.values.sum(axis=0), float(table.variance.sum()), rows)
    joint = np.exp(scores - scores.max(axis=0))
    joint = joint / (shares @ joint) * marginal  # now the classes' probabilities average to the share of the cell
    trust = 1 / (1 + float(table.variance.mean()))  # noise of less than a row is hardly any
    return _normalised((1 - trust) * _normalised(np.log(joint)) + trust * plain)


def _normalised(logs: Floats) -> Floats:
    return np.asarray(logs - np.log(np.exp(logs).sum(axis=1, keepdims=True)))


def _marginal(cells: Floats, variance: float, rows: float) -> Floats:
    """The share of rows in each cell over all classes, moved towards an even one as far as it is noise."""
    even = rows / len(cells)
    signal = max(float(np.mean((cells - even) ** 2 - variance)), 0.02 * even**2)
    weight = signal / (signal + variance)
    found = np.maximum(weight * cells + (1 - weight) * even, 0.5)
    return np.asarray(found / found.sum())


def _scores(tables: Sequence[NoisyTable], rows: Floats) -> list[Floats]:
    """For each table, class and cell the posterior mean of β."""
    result: list[Floats] = []
    first, room = 0, 0
    for stop, table in enumerate([*tables, None]):  # so many tables at once that memory does not matter
        if table is None or (room and room + table.cells * len(rows) > ROOM):
            result += _scores_at_once(tables[first:stop], rows) if stop > first else []
            first, room = stop, 0
        room += 0 if table is None else table.cells * len(rows)
    return result


def _scores_at_once(tables: Sequence[NoisyTable], rows: Floats) -> list[Floats]:
    lengths = [table.cells for table in tables]
    starts = np.cumsum([0, *lengths[:-1]])
    values = np.concatenate([table.values for table in tables], axis=1)
    variance = np.repeat(np.stack([table.variance for table in tables], axis=1), lengths, axis=1)
    classes, cells = values.shape
    kept = np.array([1]) if classes == 2 else np.arange(classes)  # with two classes the second tells all
    seen, spread = (np.stack([one[kept], one.sum(axis=0) - one[kept]]).reshape(2, -1) for one in (values, variance))
    shares = np.repeat(rows[kept] / rows.sum(), cells)
    bins = [table.ordered if table.ordered >= FEWEST else 0 for table in tables]
    chained = np.concatenate([np.arange(size) < count for size, count in zip(lengths, bins, strict=True)])
    wide, sizes = np.repeat(np.array(lengths, np.float64), lengths), np.stack([np.zeros(cells), np.full(cells, np.inf)])
    if chained.any():
        wide[chained] = 2.0  # whose shares have no law but that by their neighbours
        sizes[:, chained] = _sizes([table for table, count in zip(tables, bins, strict=True) if count], rows)
    wide, centre, doubt = (np.tile(one, len(kept)) for one in (wide, *sizes))
    among = np.tile(chained, len(kept))
    *parts, far, likely = _posterior(seen, spread, wide, centre, doubt, float(rows.sum()), shares, among)
    evidence, means, variances = (part.reshape(len(kept), cells, -1) for part in parts)
    scores = np.zeros(values.shape)
    if chained.any():
        ordered = np.array([count for count in bins if count])
        evidence[:, chained], means[:, chained] = _chained(
            evidence[:, chained], means[:, chained], variances[:, chained], far, likely, ordered
        )
    weights = np.add.reduceat(evidence, starts, axis=1)  # class, table, width
    weights = np.exp(weights - weights.max(axis=2, keepdims=True))
    weights /= weights.sum(axis=2, keepdims=True)
    scores[kept] = (means * np.repeat(weights, lengths, axis=1)).sum(axis=2)
    return [scores[:, start : start + size] for start, size in zip(starts, lengths, strict=True)]


def _sizes(tables: Sequence[NoisyTable], rows: Floats) -> Floats:
    """Of every bin the rows that all other bins of its table lead one to expect, and their standard deviation."""
    lengths = np.array([table.ordered for table in tables])
    even = np.array([rows.sum() / table.cells for table in tables])
    noise = np.repeat(np.array([table.variance.sum() for table in tables]) + even, lengths)
    seen = np.concatenate([table.values[:, : table.ordered].sum(axis=0) for table in tables]) - np.repeat(even, lengths)
    told, known = seen / noise, 1 / noise
    found = [cavities(told, known, lengths, (width * even) ** 2, np.exp(-1 / (lengths * far)), (own * even) ** 2)
             for width, far, own in itertools.product(*SHARES)]  # fmt: skip
    logs, centres, doubts = (np.array(one) for one in zip(*found, strict=True))
    centre, doubt = _mixed(_weighed(logs, lengths), centres, doubts)
    return np.stack([centre + np.repeat(even, lengths), np.sqrt(doubt)])


def _weighed(logs: Floats, lengths: NDArray[np.intp]) -> Floats:
    """The weight of each try (the first axis) in each cell of a chain (the last one), by their evidence."""
    weights = np.exp(logs - logs.max(axis=0))
    return np.repeat(weights / weights.sum(axis=0), lengths, axis=-1)


def _mixed(weights: Floats, centres: Floats, doubts: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of a mixture of tries."""
    centre = (weights * centres).sum(axis=0)
    return centre, (weights * (doubts + (centres - centre) ** 2)).sum(axis=0)


def _chained(
    evidence: Floats, means: Floats, variances: Floats, far: NDArray[np.intp], likely: Floats, lengths: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """By class, cell and width as `_posterior`, of chains of such lengths: a chain's evidence stands in its first cell.

    What the counts of a cell say is taken for a normal likelihood. At first it is the one by which a prior of the
    cell's own, of this width, would have had this posterior; where that is wider than the prior, they say nothing.
    Widths below CLEAR and above BLUNT take the likelihood of these: of rows of a rare class counts say "not many", and
    a wide prior would make "hardly any" of that, which the chain would believe once for each of its bins. Then it is
    found again beside what all other bins say (`_sited`). `likely` are likelihoods on the grid, of the cells `far`.
    """
    classes, cells, widths = evidence.shape
    prior = WIDTHS**2
    known = np.maximum(1 / variances - 1 / prior, 0.0)
    told = np.where(known > 0, means / variances, 0.0)
    alone = 0.5 * (told**2 * prior / (1 + known * prior) - np.log1p(known * prior))
    rest = evidence - alone  # what no prior changes: class, cell, width
    starts = np.cumsum(lengths) - lengths
    tries = np.array([(memory, own) for memory in (NEAR, FAR) for own in (0.0, OWN)])
    shape = (len(tries), classes, len(lengths))
    tied = np.broadcast_to(np.exp(-1 / (lengths * tries[:, :1]))[:, None], shape).ravel()
    own = np.broadcast_to(tries[:, 1, None, None], shape).ravel()
    many = np.tile(lengths, len(tries) * classes)
    found, averaged = np.zeros_like(evidence), np.empty_like(means)
    for k in range(widths):
        near = min(max(k, CLEAR), BLUNT)
        said = [one[:, :, near].ravel() for one in (told, known, rest)]
        for last in (False, True):
            sites = np.tile(said[0], len(tries)), np.tile(said[1], len(tries))
            read: tuple[Floats, ...] = (chains if last else cavities)(
                sites[0], sites[1], many, prior[k] * (1 - own), tied, prior[k] * own
            )
            apart = np.add.reduceat(said[2].reshape(classes, cells), starts, axis=1)
            logs = read[0].reshape(shape) + apart
            weights = _weighed(logs, lengths)
            if not last:
                centre, doubt = _mixed(weights, read[1].reshape(weights.shape), read[2].reshape(weights.shape))
                said = _sited(said, centre.ravel()[far], doubt.ravel()[far], far, likely)
        top = logs.max(axis=0)
        found[:, starts, k] = np.log(np.exp(logs - top).mean(axis=0)) + top
        averaged[:, :, k] = (weights * read[1].reshape(weights.shape)).sum(axis=0)
    return found, averaged


def _sited(said: list[Floats], centre: Floats, doubt: Floats, far: NDArray[np.intp], likely: Floats) -> list[Floats]:
    """Normal likelihoods of the cells `far`, as `_chained` has them, that have their posterior mean by a normal prior.

    The prior is what all other bins of a chain say; where the posterior is wider, the likelihood has its slope alone.
    """
    told, known, rest = (one.copy() for one in said)
    wide = np.maximum(doubt, WIDTHS[CLEAR] ** 2)  # as narrow as the grid resolves
    prior = np.exp(-0.5 * (ODDS - centre[:, None]) ** 2 / wide[:, None]) * np.gradient(ODDS)
    joint = likely * prior / prior.sum(axis=1, keepdims=True)
    whole = np.maximum(joint.sum(axis=1), 1e-300)
    mean = joint @ ODDS / whole
    variance = np.maximum(joint @ ODDS**2 / whole - mean**2, 1e-9)
    known[far] = np.maximum(1 / variance - 1 / wide, 0.0)
    told[far] = np.where(known[far] > 0, mean / variance, mean / wide) - centre / wide
    pulled = (told[far] + centre / wide) ** 2 / (known[far] + 1 / wide)
    rest[far] = np.log(whole) + 0.5 * (np.log1p(known[far] * wide) - pulled + centre**2 / wide)
    return [told, known, rest]


def _posterior(
    seen: Floats, noise: Floats, cells: Floats, centre: Floats, doubt: Floats, rows: float, share: Floats,
    chained: NDArray[np.bool_],
) -> tuple[Floats, Floats, Floats, NDArray[np.intp], Floats]:  # fmt: skip
    """By cell and width, the log-evidence of the width and the posterior mean and variance of the log-odds.

    Also which of the `chained` cells were looked at on the grid, by their places among these, and their likelihoods.

    `seen` are the noisy rows of the class and of all others. Any shares of the `cells` of a table are equally likely
    beforehand, so that of one has a beta law. No class can have more rows in a cell than it has at all.
    """
    base = np.log(share) - np.log1p(-share)
    # Where the data fix the odds within a step or two of the grid, the likelihood is a normal one.
    whole, spread = seen.sum(axis=0), noise.sum(axis=0)
    mass = np.maximum(whole, 0.5)
    p = np.minimum(np.maximum(seen[0] / mass, 1e-6), 1 - 1e-6)
    error = (1 - p) ** 2 * noise[0] + p**2 * noise[1] + mass * p * (1 - p)
    width = np.sqrt(error) / (mass * p * (1 - p))
    odds = np.log(p) - np.log1p(-p) - base
    close = (width < NARROW) & (np.abs(odds) < 6) & (whole > 6 * np.sqrt(spread))
    total = WIDTHS**2 + width[:, None] ** 2
    evidence = np.maximum(-0.5 * odds[:, None] ** 2 / total, -600) - 0.5 * np.log(total)
    means = odds[:, None] * WIDTHS**2 / total
    variances = width[:, None] ** 2 * WIDTHS**2 / total
    far = np.flatnonzero(~close)
    asked = chained[far]
    if not len(far):
        return evidence, means, variances, far, np.zeros((0, len(ODDS)))
    facts, same = _distinct(np.stack([*seen, *noise, cells, centre, doubt, share, base])[:, far])
    parts = (_on_grid(facts[:, at : at + CHUNK], rows) for at in range(0, facts.shape[1], CHUNK))
    found, grids = [], [np.zeros((0, len(ODDS)))]
    for *read, likely in parts:
        found.append(read)
        grids += [likely] if asked.any() else []
    for k, one in enumerate((evidence, means, variances)):
        one[far] = np.concatenate([part[k] for part in found])[same]
    likely = np.concatenate(grids)[same][asked] if asked.any() else grids[0]
    return evidence, means, variances, (np.cumsum(chained) - 1)[far[asked]], likely


def _distinct(facts: Floats) -> tuple[Floats, NDArray[np.intp] | slice]:
    """Columns of which none is there twice, and where each column is among them; of a few, all as they are.

    Noisy counts are whole numbers: among very many cells most are like some other one.
    """
    if facts.shape[1] < MANY:
        return facts, slice(None)
    keys = np.ascontiguousarray(facts.T).view(np.dtype((np.void, 8 * len(facts))))[:, 0]
    _, first, same = np.unique(keys, return_index=True, return_inverse=True)
    return facts[:, first], same


def _on_grid(facts: Floats, rows: float) -> tuple[Floats, Floats, Floats, Floats]:
    """The log-evidence of each width and the posterior mean and variance, by cell and width, from a grid of odds and
    shares; and the likelihood of each odds, as a multiple of any number.

    Logarithms of likelihoods are wanted to a few digits: four bytes hold them, in half of the time.
    """
    # Of noise that is larger than any number of rows, four bytes need not hold the square.
    seen, noise = np.clip(facts[:2], -LARGE, LARGE), np.minimum(facts[2:4], LARGE**2)
    cells, centre, doubt, share, base = facts[4:]
    chance = 1 / (1 + np.exp(-(base[:, None] + ODDS)))
    whole, spread = seen.sum(axis=0), noise.sum(axis=0)
    unsure = np.sqrt(spread + np.minimum(np.maximum(whole, 0.0), rows) + 1.0)
    low = np.minimum(np.maximum(whole - REACH * unsure, 0.0), rows * 0.999) + 0.25
    low = np.maximum(low, np.minimum(centre - REACH * doubt, rows * 0.99))
    high = np.minimum(np.maximum(whole + REACH * unsure, low + 1.0), rows + 1.0)
    high = np.minimum(high, np.maximum(centre + REACH * doubt, low + 1.0))
    q = (low[:, None] + (high - low)[:, None] * _STEPS) / (rows + 1.25)
    prior = (cells - 2)[:, None] * np.log1p(-q)
    prior -= 0.5 * ((q * (rows + 1.25) - centre[:, None]) / doubt[:, None]) ** 2
    prior -= prior.max(axis=1, keepdims=True)
    logs = np.repeat((2 * prior).astype(np.float32)[:, :, None], len(ODDS), axis=2)  # twice the logarithms, at first
    all_rows = (rows * q).astype(np.float32)[:, :, None]
    for side, part, limit in ((0, chance, share), (1, 1 - chance, 1 - share)):
        mean = all_rows * part.astype(np.float32)[:, None, :]
        np.putmask(logs, mean > (rows * limit * 1.02 + 1).astype(np.float32)[:, None, None], -np.inf)
        variance = mean + (noise[side] + 0.25).astype(np.float32)[:, None, None]
        mean -= seen[side].astype(np.float32)[:, None, None]
        mean *= mean
        mean /= variance
        logs -= mean
        logs -= np.log(variance, out=variance)
    logs -= logs.max(axis=(1, 2), keepdims=True)
    logs *= 0.5
    likely = np.exp(logs, out=logs).sum(axis=1).astype(np.float64)
    evidence = np.maximum(likely @ _PRIOR, 1e-300)
    mean = (likely * ODDS) @ _PRIOR / evidence
    return np.log(evidence), mean, np.maximum((likely * ODDS**2) @ _PRIOR / evidence - mean**2, 1e-9), likely
