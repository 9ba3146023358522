"""Scoring: joint log-probabilities of rows under a model, in NumPy for few rows and compiled threads for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.likelihoods import Likelihood, TableLikelihood
from discreet.sources import SMALL, Column, Numbers, Points, Program, Rows, compiled, in_threads, spans

Floats = NDArray[np.float64]
JOINED = 2048  # entries of a joint score table that a core's first cache holds


def joint_log_probability(rows: Rows, prior: Floats, likelihoods: Sequence[Likelihood]) -> Floats:
    """log P(class) + Σ log P(feature | class) for every row and class."""
    if rows.size < SMALL:
        scores = np.tile(prior, (rows.size, 1))
        for column, likelihood in zip(_as_numbers(rows, likelihoods), likelihoods, strict=True):
            scores += likelihood.scores(column)
        return scores
    scores = np.empty((rows.size, len(prior)))

    def keep(span: slice, block: Floats) -> None:
        scores[span] = block

    _blocks(rows, prior, likelihoods, keep)
    return scores


def whole_scores(rows: Rows, prior: Floats, likelihoods: Sequence[Likelihood], unit: int) -> Floats:
    """Joint log-probabilities in multiples of 1/unit, each part rounded: a row's are the same among whatever others.

    Sums of whole numbers are exact in any order, and densities are made of operations that round alike.
    """
    whole = np.rint(prior * unit)
    found = [(one.name, table) for one in likelihoods if (table := one.by_cell) is not None]
    if len(found) == len(likelihoods):
        tables = [TableLikelihood(name, np.rint(table * unit)) for name, table in found]
        return joint_log_probability(rows, whole, tables)
    scores = np.tile(whole, (rows.size, 1))
    for column, likelihood in zip(_as_numbers(rows, likelihoods), likelihoods, strict=True):
        scores += np.rint(likelihood.scores(column) * unit)
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


def _as_numbers(rows: Rows, likelihoods: Sequence[Likelihood]) -> list[Column]:
    """The columns, those that are held as points of a lattice as numbers again where a curve is to score them."""
    return [
        Numbers(column.feature, column.clipped()) if isinstance(column, Points) and one.by_cell is None else column
        for column, one in zip(rows.columns, likelihoods, strict=True)
    ]


def _blocks(rows: Rows, prior: Floats, likelihoods: Sequence[Likelihood], keep: Any) -> None:
    """Score block by block in threads; a bad value raises the error that names it.

    Tables of neighbouring features are joined into one while it is small: one look-up then does for all of them.
    A bad value's score is NaN, which no later addition can hide.
    """
    loops = compiled()
    columns = _as_numbers(rows, likelihoods)
    program = Program(columns)
    steps: list[tuple[list[int], Any]] = []
    for j, likelihood in enumerate(likelihoods):
        table = likelihood.by_cell
        if table is None:
            steps.append(([j], None))
            continue
        bad = np.full((program.cells[j] - table.shape[1], len(prior)), np.nan)
        scores = np.concatenate([table.T, bad])
        if steps and steps[-1][1] is not None and len(steps[-1][1]) * len(scores) <= JOINED:
            members, joint = steps.pop()
            steps.append(([*members, j], (joint[:, None, :] + scores).reshape(-1, len(prior))))
        else:
            steps.append(([j], scores))

    groups = [members for members, scores in steps if scores is not None]

    def work(part: Iterator[slice]) -> bool:
        for span in part:
            block = np.tile(prior, (span.stop - span.start, 1))
            codes = iter(program.codes(groups, span.start, span.stop) if groups else ())
            for members, scores in steps:
                if scores is None:
                    (j,) = members
                    likelihoods[j].add_scores(columns[j].feature, np.ascontiguousarray(columns[j].values[span]), block)
                else:
                    loops.add_scores(next(codes), scores, block)
            if np.isnan(block[:, 0]).any():
                return False
            keep(span, block)
        return True

    if not all(in_threads(work, spans(rows.size, max(1 << 11, (1 << 16) // len(prior))))):
        for column, likelihood in zip(_as_numbers(rows, likelihoods), likelihoods, strict=True):
            likelihood.scores(column)
