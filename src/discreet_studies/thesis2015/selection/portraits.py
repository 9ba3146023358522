"""What the thesis draws of its data sets: scores of features, how sparse they are, and what noise makes of them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet_studies.data import load
from discreet_studies.thesis2015.selection.data import Bench, bench, mutual_information

Floats = NDArray[np.float64]
EPSILON, LEVEL = 0.1, 0.65


def information_reach(rows: int) -> float:
    """Table 3.2: how far one changed row of so many can move the mutual information, in bits (figure 3.9)."""
    return math.log2(rows) / rows + (rows - 1) / rows * math.log2(rows / (rows - 1))


def count_scores(held: Bench) -> Floats:
    """Equation 3.22: the larger of the differences of on- and of off-counts between the classes."""
    tables = np.stack([held.statistics.tables[name] for name in held.schema.names])
    return np.asarray(np.abs(tables[:, 0] - tables[:, 1]).max(axis=1), np.float64)


def chances(scores: Floats, reach: float, epsilon: float, k: int = 10) -> Floats:
    """Figures 3.11, 3.12 and 3.18: the chance of each feature in Algorithm 4, scores shifted by the k + 1 best."""
    shifted = scores - np.sort(scores)[::-1][min(k, len(scores) - 1)]
    return np.asarray(1 / (1 + np.exp(-np.clip(epsilon / (2 * reach) * shifted, -700, 700))))


def features(directory: Path, name: str, rng: np.random.Generator) -> dict[str, Any]:
    """Everything the figures need about single features, as lists: one run where noise comes in."""
    held = bench(directory, name)
    width, rows = len(held.schema.features), len(held.labels)
    tables = np.stack([held.statistics.tables[one] for one in held.schema.names]).astype(np.float64)
    noisy = tables + rng.laplace(0, width / EPSILON, tables.shape)
    limit = -width / EPSILON * math.log(2 * (1 - LEVEL))
    second = [mutual_information(np.maximum(table, 0).astype(np.int64)) for table in noisy]  # Algorithm 2
    third = held.information + rng.laplace(0, width * information_reach(rows) / EPSILON, width)  # Algorithm 3
    best = np.argsort(-held.information, kind="stable")[:10]
    words = load(directory, name).schema.names if name == "xwindows" else held.schema.names
    listed = {
        "information": held.information,
        "scores": count_scores(held),
        "rates": tables[:, :, 1].T / np.maximum(tables.sum(axis=2).T, 1),
        "thresholded": (noisy[:, :, 1] < limit).all(axis=1).astype(int),
        "ranked_tables": np.array(second),
        "ranked_scores": third,
    }
    top = {str(words[i]).removeprefix("w_"): [round(float(held.information[i]), 4), *map(int, tables[i, :, 1])]
           for i in best}  # fmt: skip
    return {
        **{f"each_{key}": json.dumps(np.round(values, 5).tolist()) for key, values in listed.items()},
        "top": json.dumps(top),
        "train_rows": rows,
    }
