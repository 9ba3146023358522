"""Packed bits: oracles whose report is a set of values, one bit per value, lowest bit first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import DataError
from discreet.local.bits import blockwise
from discreet.local.kernels import compiled
from discreet.local.oracles.base import Integers, Oracle, Raw, Reports

_STRIPE = 512  # bytes: the histograms of a stripe fit the cache


class PackedOracle(Oracle):
    """An oracle that reports bits 0 … d − 1, eight to a byte; what is left of the last byte is zero."""

    def packed(self, report: tuple[int, ...]) -> bytes:
        return bytes(report)

    def encode(self, reports: Reports) -> Raw:
        return self._packed(reports)

    def decode(self, raw: Raw) -> tuple[Reports, NDArray[np.bool_]]:
        reports = self._packed(raw)
        spare = 8 * self.width - self.d
        fine = (reports[:, -1] >> np.uint8(8 - spare) == 0) if spare else np.ones(len(reports), bool)
        fine &= self._well_formed(reports)
        return np.where(fine[:, None], reports, np.uint8(0)), fine

    def _well_formed(self, reports: Raw) -> NDArray[np.bool_]:
        return np.ones(len(reports), bool)

    def support(self, reports: Reports) -> Integers:
        packed = self._packed(reports)
        counts = np.zeros((self.width, 8), np.int64)
        bits = (np.arange(256)[:, None] >> np.arange(8)) & 1
        for low in range(0, self.width, _STRIPE):
            stripe = packed[:, low : low + _STRIPE]

            def count(rows: slice, stripe: Raw = stripe) -> Integers:
                table = np.zeros((stripe.shape[1], 256), np.int64)
                compiled().byte_histogram(stripe[rows], table)
                return table

            for table in blockwise(count, len(packed), None, 1 << 20):
                counts[low : low + _STRIPE] += table @ bits
        return counts.ravel()[: self.d]

    def pack(self, bits: Any) -> tuple[int, ...]:
        """Bits, lowest first, as the bytes of a report."""
        return tuple(np.packbits(np.asarray(bits, np.uint8), bitorder="little").tolist())

    def _packed(self, reports: Reports) -> Raw:
        array = np.asarray(reports)
        if array.ndim != 2 or array.shape[1] != self.width or array.dtype != np.uint8:
            raise DataError(f"reports of {self!r} are rows of {self.width} bytes")
        return array
