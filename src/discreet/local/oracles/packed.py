"""Packed bits: oracles whose report is a set of values, one bit per value, lowest bit first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local.bits import blockwise
from discreet.local.kernels import kernel
from discreet.local.mechanism import Reports
from discreet.local.oracles.base import Oracle
from discreet.local.wire.integers import Integers, Raw, Run

_STRIPE = 512  # bytes: the histograms of a stripe fit the cache


@kernel
def byte_histogram(reports: Any, counts: Any) -> None:
    """How often each column of bytes has each of the 256 values."""
    for i in range(len(reports)):
        for j in range(reports.shape[1]):
            counts[j, reports[i, j]] += 1


class PackedOracle(Oracle):
    """An oracle that reports bits 0 … d − 1, eight to a byte; what is left of the last byte is zero."""

    dtype = np.dtype(np.uint8)

    def __init__(self, d: int, epsilon: Any) -> None:
        super().__init__(d, epsilon)
        self.shape = (-(-self.d // 8),)
        self.runs = (Run(0, 255, *self.shape),)

    def encode(self, reports: Reports) -> Raw:
        return self.rows(reports)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        reports = self.rows(raw)
        fine = self.possible(reports) & (reports[:, -1].astype(np.int16) >> (self.d - 1) % 8 + 1 == 0)
        return reports if fine.all() else np.where(fine[:, None], reports, np.uint8(0)), fine

    def says(self, reports: Reports) -> NDArray[Any]:
        return np.unpackbits(self.rows(reports), axis=1, count=self.d, bitorder="little")

    def support(self, reports: Reports) -> Integers:
        packed = self.rows(reports)
        counts = np.zeros((self.width, 8), np.int64)
        bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
        for low in range(0, self.width, _STRIPE):
            stripe = packed[:, low : low + _STRIPE]

            def count(rows: slice, stripe: Raw = stripe) -> Integers:
                table = np.zeros((stripe.shape[1], 256), np.int64)
                byte_histogram(stripe[rows], table)
                return table

            for table in blockwise(count, len(packed), None, 1 << 20):
                counts[low : low + _STRIPE] += table @ bits
        return counts.ravel()[: self.d]

    def pack(self, bits: Any) -> tuple[int, ...]:
        """Bits, lowest first, as the bytes of a report."""
        return tuple(np.packbits(np.asarray(bits, np.uint8), bitorder="little").tolist())
