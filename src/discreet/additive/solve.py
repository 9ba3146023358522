"""The objective of an additive model: logistic or softmax loss over blocks, with a certificate of its gradient."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from discreet.additive.kernels import compiled, loops
from discreet.additive.penalty import Chain
from discreet.linear import precise
from discreet.linear.encode import Design, added, symmetric
from discreet.linear.kernels import loops as products
from discreet.linear.solve import ROOM, conjugate_gradients, descend

Floats = NDArray[np.float64]
Rates = Callable[[slice], Floats]  # of some rows, one column per row of θ
_U = 2.0**-53
SAMPLE = 1 << 14  # rows that a first look takes, of four times as many or more
NEAR = 30  # steps at most before the solver proper
PATIENCE = 6  # steps as good as the last that are waited for, before curvatures are drawn from all rows


@dataclass(frozen=True, eq=False)
class Objective:
    """J(θ) = Σ loss + ½(θ − centre)ᵀΓ(θ − centre) + tilt·θ, one row of θ per class, or one row for two classes.

    The sum is not divided by the number of rows, which is private. `blocks` is how many a row has, the constant
    counted.
    """

    design: Design
    blocks: int
    chain: Chain
    centre: Floats
    tilt: Floats

    @property
    def vectors(self) -> int:
        """Rows of θ."""
        return len(self.centre)

    def _shaped(self, weights: Floats) -> Floats:
        return weights.reshape(self.centre.shape)

    def start(self) -> Floats:
        """The centre, moved by what all classes have in common, which the penalty alone decides."""
        if self.vectors == 1:
            return self.centre.ravel().copy()
        return np.asarray((self.centre - self.chain.solve(self.tilt.mean(axis=0))).ravel())

    def near(self, goal: float) -> Floats | None:
        """Of many rows, the minimum over some of them, and steps over all by curvatures of some, then of more.

        The certificate is all that the proof asks of a solver, so that it may begin anywhere.
        """
        if len(self.design) < 4 * SAMPLE:
            return None
        some = self.design.thinned(min(max(SAMPLE, len(self.design) // 8), 32 * SAMPLE))
        share = len(some) / len(self.design)
        few = replace(
            self, design=some, chain=replace(self.chain, pull=self.chain.pull * share), tilt=self.tilt * share
        )

        enough = math.sqrt(len(some))
        weights = descend(few, enough, few.near(enough / ROOM))
        slope, norm, bent = self._slope(weights)
        able, solve = self.vectors == 1 and self.design.dense, None
        for _ in range(NEAR):
            if norm <= goal:
                break
            try:
                if solve is None:
                    step = few.newton_step(few._margins(few._shaped(weights)), slope * share)
                else:
                    step = -solve(slope)
                there = weights + step
                fresh, size, curved = self._slope(there)
                gain = norm / max(size, 1e-300)
                if not gain > 1 and (solve is not None or not able):
                    break
                if gain > 1:
                    weights, slope, norm, bent = there, fresh, size, curved
                if able and norm > goal and PATIENCE * math.log(max(1.0, gain)) < math.log(norm / goal):
                    solve = self._thinned_parts(weights, bent)
            except LinAlgError:
                break
        return weights

    def _slope(self, weights: Floats) -> tuple[Floats, float, float]:
        """The gradient by plain sums in one pass, its norm, and the sum of the curvatures of the rows' losses."""
        theta, shape = self._shaped(weights), (self.design.columns, self.vectors)
        scaled = np.ascontiguousarray(theta.T * self.design.unit)

        def summed(rows: slice, codes: Any, values: Any) -> tuple[Floats, float]:
            out, labels = np.zeros(shape), self.design.labels[rows]
            if self.vectors == 1:
                return out, compiled().slope(codes, values, labels, scaled[:, 0], out[:, 0])
            return out, compiled().slopes(codes, values, labels, scaled, out)

        sums, bent = np.zeros(shape), 0.0
        for more, curved in self.design.each(summed):
            sums += more
            bent += curved
        slope = (sums.T * self.design.unit + self.chain.gradient(theta - self.centre) + self.tilt).ravel()
        return slope, float(np.linalg.norm(slope)), bent

    def _thinned_parts(self, weights: Floats, bent: float) -> Any:
        """What solves with the matrix of two classes, from rows that are drawn by how much they bend, `bent` in all."""
        size, columns = len(self.design), self.design.columns
        kept = max(size // 8, 32 * SAMPLE)
        least = bent / kept if kept < size else 0.0
        scaled = np.ascontiguousarray(self._shaped(weights)[0] * self.design.unit)

        def summed(rows: slice, codes: Any, values: Any) -> Floats:
            out = np.zeros((columns, columns))
            compiled().bend(codes, values, scaled, least, rows.start, out)
            return out

        sums = sum(self.design.each(summed), np.zeros((columns, columns)))
        return self._solving(sums[None])

    def at(self, weights: Floats) -> Floats:
        """The scores of all rows, one column per row of θ, good to their last digit."""
        return self._margins(self._shaped(weights), "exact_scores")

    def _margins(self, theta: Floats, loop: str = "scores") -> Floats:
        out = np.empty((len(self.design), self.vectors))
        scaled = np.ascontiguousarray(theta.T * self.design.unit)
        self.design.run(lambda rows, codes, values: getattr(loops(codes), loop)(codes, values, scaled, out[rows]))
        return out

    def _gather(self, rates: Rates, *, plain: bool = False) -> Floats:
        shape = (self.design.columns, self.vectors)

        def summed(rows: slice, codes: Any, values: Any) -> tuple[Floats, Floats]:
            out, rest = np.zeros(shape), np.zeros(shape)
            if plain:
                loops(codes).collect(codes, values, rates(rows), out)
            else:
                loops(codes).gather(codes, values, rates(rows), out, rest)
            return out, rest

        return np.ascontiguousarray(added(self.design.each(summed), shape).T * self.design.unit)

    def _own(self, rows: slice) -> NDArray[np.intp]:
        return self.design.labels[rows].astype(np.intp)

    def value(self, weights: Floats, t: Floats) -> float:
        """J(θ)."""
        theta = self._shaped(weights)
        loss = math.fsum(self._loss(t[rows], self._own(rows)) for rows in self.design.spans())
        return loss + self.chain.value(theta - self.centre) + float(np.sum(self.tilt * theta))

    def _loss(self, t: Floats, own: NDArray[np.intp]) -> float:
        if self.vectors == 1:
            return float(np.sum(np.logaddexp(0.0, np.where(own == 1, -t[:, 0], t[:, 0]))))
        top = t.max(axis=1)
        return float(np.sum(np.log(np.exp(t - top[:, None]).sum(axis=1)) + (top - t[np.arange(len(t)), own])))

    def probabilities(self, t: Floats) -> Floats:
        """Of the second class, or of every class."""
        if self.vectors == 1:
            with np.errstate(over="ignore"):
                return np.asarray(1 / (1 + np.exp(-t)))
        parts = np.exp(t - t.max(axis=1, keepdims=True))
        return np.asarray(parts / parts.sum(axis=1, keepdims=True))

    def residuals(self, t: Floats, own: NDArray[np.intp]) -> Floats:
        """Slopes of the loss of each row: probabilities less the truth."""
        result = self.probabilities(t)
        if self.vectors == 1:
            result[:, 0] -= own
        else:
            result[np.arange(len(t)), own] -= 1
        return result

    def gradient(self, weights: Floats, t: Floats) -> Floats:
        """∇J(θ)."""
        penalty = self.chain.gradient(self._shaped(weights) - self.centre)
        sums = self._gather(lambda rows: self.residuals(t[rows], self._own(rows)))
        return np.asarray((sums + penalty + self.tilt).ravel())

    # ---- the certificate

    def rounding(self, weights: Floats, t: Floats) -> float:
        """A bound on the norm of what rounding did to `gradient` at the scores t (docs/proofs/additive.md).

        A score is off by its last rounding; residuals follow it at a rate of at most a quarter, or half if there are
        several classes, and are good to a few units themselves; sums over rows are compensated.
        """
        theta = self._shaped(weights)
        sizes = self._margins(np.abs(theta))
        entries = self.design.codes.shape[1]
        each = [row_errors(entries, np.abs(t[rows]), sizes[rows] * (1 + 2.0**-30)) for rows in self.design.spans()]
        off = row_rounding(self.blocks, math.fsum(each), len(t), self.vectors)
        last = 4 * float(np.linalg.norm(self.tilt))
        return off + 2 * _U * last + 2 * self.chain.rounding(theta - self.centre)

    def certified(self, weights: Floats) -> float:
        """A bound on the norm of the exact gradient of J at these weights."""
        t = self.at(weights)
        norm = float(np.linalg.norm(self.gradient(weights, t)))
        return norm * (1 + len(weights) * _U) + self.rounding(weights, t)

    @property
    def stiffness(self) -> float:
        """A bound on the largest eigenvalue of Γ, by the sums of its rows."""
        off = np.abs(self.chain.pull * self.chain.link)
        return float(self.chain.diagonal().max() + 2 * off.max()) * (1 + 1e-9)

    def precise_gradient(self, weights: Any) -> tuple[Any, float]:
        """∇J in whole numbers; a residual is off by less than 2^17 units for each row of θ."""
        theta = weights.reshape(self.centre.shape)
        sums = np.full(theta.shape, 0, object)
        for rows in precise.blocks(len(self.design)):
            t = np.stack([precise.scores(self.design, row, rows) for row in theta], axis=1)
            for line, rates in zip(sums, self._precise_residuals(t, self._own(rows)).T, strict=True):
                precise.gather(self.design, rates, rows, line)
        gap = theta - precise.wholes(self.centre)
        whole = precise.in_unit(sums, self.design) + self.chain.precise_gradient(gap) + precise.wholes(self.tilt)
        slack = (len(self.design) * 2.0**18 * self.vectors + 2.0**8) * theta.size
        return whole.ravel(), slack * 2.0**-precise.BITS

    def _precise_residuals(self, t: Any, own: NDArray[np.intp]) -> Any:
        if self.vectors == 1:
            fallen = precise.decay(np.abs(t))
            chances = np.where(t >= 0, precise.ONE, fallen) * precise.ONE // (precise.ONE + fallen)
            chances[:, 0] -= own.astype(object) * precise.ONE
            return chances
        parts = precise.decay(t.max(axis=1, keepdims=True) - t)
        chances = parts * precise.ONE // parts.sum(axis=1, keepdims=True)
        chances[np.arange(len(t)), own] -= precise.ONE
        return chances

    # ---- steps

    def newton_step(self, t: Floats, gradient: Floats) -> Floats:
        """−(∇²J)⁻¹∇J, for several classes by conjugate gradients that know each class' own part of the matrix."""

        def bends(rows: slice) -> Floats:
            return self._bends(t[rows])

        solve = self._own_parts(bends)
        if self.vectors == 1 and self.design.dense:
            return np.asarray(-solve(gradient))

        def product(way: Floats) -> Floats:
            theta = self._shaped(way)
            moved = self._margins(theta)

            def rates(rows: slice) -> Floats:
                if self.vectors == 1:
                    return np.asarray(bends(rows) * moved[rows])
                chances = self.probabilities(t[rows])
                return np.asarray(chances * (moved[rows] - np.sum(chances * moved[rows], axis=1, keepdims=True)))

            return np.asarray((self._gather(rates, plain=True) + self.chain.gradient(theta)).ravel())

        return conjugate_gradients(product, solve, gradient, 200)

    def _bends(self, t: Floats) -> Floats:
        chances = self.probabilities(t)
        return np.asarray(chances * (1 - chances))

    def _own_parts(self, bends: Rates) -> Any:
        """What solves with the diagonal blocks of the matrix: whole ones, or their diagonal where they are large."""
        if self.design.dense:
            shape = (self.vectors, self.design.columns, self.design.columns)

            def summed(rows: slice, codes: Any, values: Any) -> Floats:
                sums = np.zeros(shape)
                for out, column in zip(sums, bends(rows).T, strict=True):
                    products(codes).outer(codes, values, np.ascontiguousarray(column), out)
                return sums

            return self._solving(sum(self.design.each(summed), np.zeros(shape)))
        diagonal = self._gather(bends, plain=True) + self.chain.diagonal()
        return lambda vector: self._apart(self._shaped(vector) / diagonal)

    def _solving(self, sums: Any) -> Any:
        """What solves with the matrices of each class, of which the parts on and above the diagonal are known."""
        unit = self.design.unit**2
        factors = [cho_factor(symmetric(out) * unit + self.chain.matrix(), check_finite=False) for out in sums]

        def solve(vector: Floats) -> Floats:
            parts = zip(factors, self._shaped(vector), strict=True)
            return self._apart(np.stack([cho_solve(factor, part, check_finite=False) for factor, part in parts]))

        return solve

    def _apart(self, theta: Floats) -> Floats:
        """What tells classes apart: the loss does not see what they have in common, and `start` has settled it."""
        return np.asarray((theta - theta.mean(axis=0) if self.vectors > 1 else theta).ravel())


def row_errors(entries: int, scores: Floats, sizes: Floats) -> float:
    """How far rounding puts the slopes of some rows off through their scores, added up, in units of the last place.

    `scores` are the sizes of each row's scores and `sizes` those of their terms, added up.
    """
    small = (entries + 1) * 2.0**-25 * sizes
    if scores.shape[1] == 1:  # the slope p(1 − p) is less than 1/(4·score)
        return 0.25 * float(np.sum(small))
    return 0.5 * float(np.sum(np.linalg.norm(scores + small, axis=1)))


def row_rounding(blocks: int, errors: float, count: float, vectors: int) -> float:
    """What rounding does to the sum of the gradients of so many rows at most, those `errors` among it."""
    each = errors + count * (0.25 + 8 if vectors == 1 else 20 + 2 * vectors)
    return float(2 * _U * math.sqrt(blocks) * (each + count**3 * _U))
