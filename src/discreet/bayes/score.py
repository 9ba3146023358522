"""Scoring: joint log-probabilities of rows under a model, in NumPy for few rows and compiled threads for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods import GaussianLikelihood, Likelihood, TableLikelihood
from discreet.schema import Numeric
from discreet.sources.columns import Codes, Column, Numbers
from discreet.sources.count import SMALL, Rows, bin_table, in_threads, spans
from discreet.sources.kernels import compiled

Floats = NDArray[np.float64]


def joint_log_probability(rows: Rows, prior: Floats, likelihoods: Sequence[Likelihood]) -> Floats:
    """log P(class) + Σ log P(feature | class) for every row and class."""
    if rows.size < SMALL:
        scores = np.tile(prior, (rows.size, 1))
        for column, likelihood in zip(rows.columns, likelihoods, strict=True):
            scores += _plain(column, likelihood)
        return scores
    scores = np.empty((rows.size, len(prior)))

    def keep(span: slice, block: Floats) -> None:
        scores[span] = block

    _blocks(rows, prior, likelihoods, keep)
    return scores


def most_probable(rows: Rows, prior: Floats, likelihoods: Sequence[Likelihood]) -> NDArray[np.intp]:
    """The index of the most probable class of every row, without keeping the scores."""
    if rows.size < SMALL:
        first: NDArray[np.intp] = np.argmax(joint_log_probability(rows, prior, likelihoods), axis=1)
        return first
    best = np.empty(rows.size, np.intp)

    def keep(span: slice, block: Floats) -> None:
        compiled().argmax(block, best[span])

    _blocks(rows, prior, likelihoods, keep)
    return best


def _plain(column: Column, likelihood: Likelihood) -> Floats:
    if isinstance(column, Codes):
        assert isinstance(likelihood, TableLikelihood)
        codes = column.encode()
        if (codes == column.feature.cells).any():
            column.complain()
        return likelihood.log_prob.T[codes]
    feature, values = column.feature, column.values
    points, gone = column.points()
    if (values.dtype.kind == "f" and np.isinf(values).any()) or (gone.any() and feature.missing_code is None):
        column.complain()
    if isinstance(likelihood, TableLikelihood):
        codes = np.searchsorted(np.array(feature.cuts, np.int64), points, side="right")
        if feature.missing_code is not None:
            codes[gone] = feature.missing_code
        return likelihood.log_prob.T[codes]
    constant, weight, absent = likelihood.constants(feature)
    gap = column.clipped()[:, None] - likelihood.mean
    return np.where(gone[:, None], absent, constant - weight * (gap * gap))


def _blocks(rows: Rows, prior: Floats, likelihoods: Sequence[Likelihood], keep: Any) -> None:
    """Score block by block in threads; a bad value raises the error that names it."""
    adders = [_adder(column, likelihood) for column, likelihood in zip(rows.columns, likelihoods, strict=True)]

    def work(part: Iterator[slice]) -> list[int]:
        wrong = [0] * len(adders)
        for span in part:
            block = np.tile(prior, (span.stop - span.start, 1))
            for j, (add, column, arguments) in enumerate(adders):
                wrong[j] += add(column.values[span], *arguments, block)
            keep(span, block)
        return wrong

    for wrong in in_threads(work, spans(rows, most=1 << 13)):
        for count, column in zip(wrong, rows.columns, strict=True):
            if count:
                column.complain()


def _adder(column: Column, likelihood: Likelihood) -> tuple[Any, Column, tuple[Any, ...]]:
    loops = compiled()
    if isinstance(column, Codes):
        assert isinstance(likelihood, TableLikelihood)
        scores = np.ascontiguousarray(likelihood.log_prob.T)
        place = (column.low, column.table, column.unknown, column.missing, column.feature.cells)
        return loops.add_codes, column, (*place, scores)
    feature = column.feature
    assert isinstance(column, Numbers) and isinstance(feature, Numeric)
    lattice = feature.lattice
    if isinstance(likelihood, GaussianLikelihood):
        constant, weight, absent = likelihood.constants(feature)
        numbers = (feature.lower, feature.upper, likelihood.mean, weight, constant)
        return loops.add_gaussian, column, (*numbers, feature.missing_code is not None, absent)
    scores = np.ascontiguousarray(likelihood.log_prob.T)
    gone = -1 if feature.missing_code is None else feature.missing_code
    return loops.add_bins, column, (lattice.middle, lattice.inverse, lattice.half, bin_table(feature), gone, scores)
