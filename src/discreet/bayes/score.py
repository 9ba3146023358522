"""Scoring: joint log-probabilities of rows under a model, in NumPy for few rows and compiled threads for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods import GaussianLikelihood, Likelihood, TableLikelihood
from discreet.schema import Numeric
from discreet.sources import SMALL, Codes, Column, Reader, Rows, coder, compiled, in_threads, spans

Floats = NDArray[np.float64]
JOINED = 2048  # entries of a joint score table that a core's first cache holds


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


def whole_scores(rows: Rows, prior: Floats, likelihoods: Sequence[Likelihood], unit: int) -> Floats:
    """Joint log-probabilities in multiples of 1/unit, each part rounded: a row's are the same among whatever others.

    Sums of whole numbers are exact in any order, and parts of bell curves come from operations that round alike.
    """
    whole = np.rint(prior * unit)
    tables = [
        TableLikelihood(likelihood.name, np.rint(likelihood.log_prob * unit))
        for likelihood in likelihoods
        if isinstance(likelihood, TableLikelihood)
    ]
    if len(tables) == len(likelihoods):
        return joint_log_probability(rows, whole, tables)
    scores = np.tile(whole, (rows.size, 1))
    for column, likelihood in zip(rows.columns, likelihoods, strict=True):
        if isinstance(likelihood, TableLikelihood):
            scores += _plain(column, tables.pop(0))
        else:
            scores += np.rint(_plain(column, likelihood) * unit)
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
    """Score block by block in threads; a bad value raises the error that names it.

    Tables of neighbouring features are joined into one while it is small: one look-up then does for all of them.
    A bad value's score is NaN, which no later addition can hide.
    """
    loops = compiled()
    reader = Reader([column.values for column in rows.columns])
    coders = [coder(column) for column in rows.columns]
    steps: list[tuple[list[int], Any]] = []
    for j, likelihood in enumerate(likelihoods):
        if isinstance(likelihood, GaussianLikelihood):
            steps.append(([j], None))
            continue
        bad = np.full((coders[j].cells - likelihood.log_prob.shape[1], len(prior)), np.nan)
        scores = np.concatenate([likelihood.log_prob.T, bad])
        if steps and steps[-1][1] is not None and len(steps[-1][1]) * len(scores) <= JOINED:
            members, joint = steps.pop()
            steps.append(([*members, j], (joint[:, None, :] + scores).reshape(-1, len(prior))))
        else:
            steps.append(([j], scores))

    def work(part: Iterator[slice]) -> bool:
        for span in part:
            size = span.stop - span.start
            values = reader.read(span)
            block, lattice = np.tile(prior, (size, 1)), np.empty(size, np.int32)
            for members, scores in steps:
                if scores is None:
                    _add_curve(rows.columns[members[0]].feature, likelihoods[members[0]], values[members[0]], block)
                    continue
                index = np.zeros(size, np.uint32)
                for j in members:
                    coders[j].index(values[j], index, lattice)
                loops.add_scores(index, scores, block)
            if np.isnan(block[:, 0]).any():
                return False
            keep(span, block)
        return True

    if not all(in_threads(work, spans(rows.size, max(1 << 11, (1 << 16) // len(prior))))):
        for column, likelihood in zip(rows.columns, likelihoods, strict=True):
            _plain(column, likelihood)


def _add_curve(feature: Any, likelihood: Any, values: NDArray[Any], block: Floats) -> None:
    assert isinstance(feature, Numeric)
    constant, weight, absent = likelihood.constants(feature)
    if feature.missing_code is None:
        absent = np.full_like(absent, np.nan)
    compiled().add_gaussian(values, feature.lower, feature.upper, likelihood.mean, weight, constant, absent, block)
