"""Reports per second of every oracle, and as ratios to multi-freq-ldpy in the same run; d = 50, ε = 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.common import best_of, line
from discreet.local.oracles import ORACLES, Oracle

D, EPSILON, PEOPLE, PEER_PEOPLE = 50, 1.0, 4_000_000, 100_000


def run(repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """Both sides of every oracle, then the ratios for direct and optimised unary encoding."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, D, PEOPLE)
    rates: dict[str, tuple[float, float]] = {}
    peers = _peers()
    lines = []
    for name, kind in ORACLES.items():
        rates[name] = _ours(kind(D, EPSILON), values[: PEOPLE // (20 if name == "she" else 1)], repeats)
        lines += [
            line(f"{name}: reports drawn", rates[name][0], "million/s"),
            line(f"{name}: reports counted", rates[name][1], "million/s"),
        ]
        if name in peers:
            theirs = peers[name](values[:PEER_PEOPLE].tolist(), repeats)
            for what, mine, other in zip(("drawn", "counted"), rates[name], theirs, strict=True):
                ratio = mine / other
                lines.append(
                    line(
                        f"{name}: {what}, against multi-freq-ldpy at {other:.3g} million/s",
                        ratio,
                        "times",
                        ">= 10",
                        ratio >= 10,
                    )
                )
    if not peers:
        lines.append(line("multi-freq-ldpy is not installed (extra 'bench'): no ratios", None, ""))
    return lines


def _ours(oracle: Oracle, values: np.ndarray, repeats: int) -> tuple[float, float]:
    reports = oracle.perturb(values)
    return _rates(repeats, len(values), lambda: oracle.perturb(values), lambda: oracle.aggregate(reports))


def _rates(repeats: int, size: int, draw: Callable[[], Any], count: Callable[[], Any]) -> tuple[float, float]:
    return size / best_of(repeats, draw) / 1e6, size / best_of(repeats, count) / 1e6


def _peers() -> dict[str, Callable[[list[int], int], tuple[float, float]]]:
    """The peer's client and aggregator, called the way its documentation does: one person at a time, then a list."""
    try:
        from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Aggregator_MI, GRR_Client
        from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Aggregator_MI, UE_Client
    except ImportError:
        return {}

    def grr(values: list[int], repeats: int) -> tuple[float, float]:
        reports = [GRR_Client(value, D, EPSILON) for value in values]
        return _rates(
            repeats,
            len(values),
            lambda: [GRR_Client(value, D, EPSILON) for value in values],
            lambda: GRR_Aggregator_MI(reports, D, EPSILON),
        )

    def oue(values: list[int], repeats: int) -> tuple[float, float]:
        reports = [UE_Client(value, D, EPSILON, True) for value in values]
        return _rates(
            repeats,
            len(values),
            lambda: [UE_Client(value, D, EPSILON, True) for value in values],
            lambda: UE_Aggregator_MI(reports, EPSILON, True),
        )

    return {"grr": grr, "oue": oue}
