"""Loops over coded rows: histograms of nodes, walks to leaves, sums of leaf values; compiled when first used."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from discreet.loops import machine_code
from discreet.sources import worthwhile

COSTLY = 4  # times as long as a plain count NumPy takes for these


def histogram(codes: Any, labels: Any, node: Any, starts: Any, out: Any) -> None:
    """Count the rows of each node by cell and class; rows at node −1 have come to a leaf already."""
    for i in range(len(labels)):
        if node[i] >= 0:
            table = out[node[i]]
            for j in range(codes.shape[1]):
                table[starts[j] + codes[i, j], labels[i]] += 1


def descend(codes: Any, node: Any, feature: Any, low: Any, high: Any, no: Any, yes: Any) -> None:
    """Move each row one question down its tree; a node without a question keeps its rows."""
    for i in range(len(node)):
        at = node[i]
        asked = feature[at]
        if asked >= 0:
            code = codes[i, asked]
            node[i] = yes[at] if (code >= low[at]) & (code < high[at]) else no[at]


def walk(codes: Any, root: Any, feature: Any, low: Any, high: Any, no: Any, yes: Any, out: Any) -> None:
    """The leaf that each row comes to from its own root."""
    for i in range(len(root)):
        at = root[i]
        while feature[at] >= 0:
            code = codes[i, feature[at]]
            at = yes[at] if (code >= low[at]) & (code < high[at]) else no[at]
        out[i] = at


def add_leaves(
    codes: Any, roots: Any, feature: Any, low: Any, high: Any, no: Any, yes: Any, value: Any, out: Any
) -> None:
    """Add up the values of the leaves that each row comes to in all trees."""
    for t in range(len(roots)):
        for i in range(len(out)):
            at = roots[t]
            while feature[at] >= 0:
                code = codes[i, feature[at]]
                at = yes[at] if (code >= low[at]) & (code < high[at]) else no[at]
            for k in range(out.shape[1]):
                out[i, k] += value[at, k]


def compiled() -> Any:
    """The same loops as machine code."""
    return machine_code(histogram, descend, walk, add_leaves)


def _histogram(codes: Any, labels: Any, node: Any, starts: Any, out: Any) -> None:
    here = np.flatnonzero(node >= 0)
    cells, classes = out.shape[1:]
    own, spot = labels[here], node[here] * cells
    for start, column in zip(starts, codes.T, strict=False):
        counts = np.bincount((spot + start + column[here]) * classes + own, minlength=out.size)
        out += counts.reshape(out.shape)


def _descend(codes: Any, node: Any, feature: Any, low: Any, high: Any, no: Any, yes: Any) -> None:
    asked = feature[node]
    here = np.flatnonzero(asked >= 0)
    at, code = node[here], codes[here, asked[here]]
    node[here] = np.where((code >= low[at]) & (code < high[at]), yes[at], no[at])


def _walk(codes: Any, root: Any, feature: Any, low: Any, high: Any, no: Any, yes: Any, out: Any) -> None:
    out[:] = root
    while (feature[out] >= 0).any():
        _descend(codes, out, feature, low, high, no, yes)


_PLAIN = SimpleNamespace(histogram=_histogram, descend=_descend, walk=_walk)


def loops(codes: Any) -> Any:
    """What counts these rows: the same whole numbers by machine code, or by NumPy while that takes no longer."""
    return compiled() if worthwhile(codes.size * COSTLY) else _PLAIN


def leaf_counts(codes: Any, labels: Any, root: Any, nodes: Any, classes: int) -> np.ndarray[Any, Any]:
    """Rows by leaf and class; `nodes` are the columns of a tree table, `root` is where each row starts."""
    leaf = np.empty(len(labels), np.int64)
    loops(codes).walk(codes, root, *nodes, leaf)
    size = len(nodes[0])
    flat = np.bincount(leaf * classes + labels, minlength=size * classes)
    return flat.reshape(size, classes).astype(np.int64)
