"""Fit and predict against scikit-learn's non-private CategoricalNB + GaussianNB on the same rows.

Fits are also compared with the physical limit: the time to read the same bytes once on as many cores.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.naive_bayes import CategoricalNB, GaussianNB

from benchmarks.common import best_of, line, made_up_rows, made_up_schema, one_read
from discreet import PrivateNB


def run(rows: int = 5_000_000, repeats: int = 5, **_: Any) -> list[dict[str, Any]]:
    """One line per input and task: our time as a share of theirs."""
    codes, numbers, y = made_up_rows(rows, seed=0)
    tables, bells = CategoricalNB(), GaussianNB()
    theirs = {
        "fit": best_of(repeats, lambda: (tables.fit(codes, y), bells.fit(numbers, y))),
        "predict": best_of(repeats, lambda: (tables.predict(codes), bells.predict(numbers))),
    }
    names = made_up_schema().names
    frame = pd.DataFrame({**dict(zip(names, codes.T.copy(), strict=False)),
                          **dict(zip(names[codes.shape[1]:], numbers.T.copy(), strict=True))})  # fmt: skip
    matrix = np.hstack([codes, numbers])
    columns = [frame[name].to_numpy() for name in names]
    reads = {"data frame": one_read([*columns, y], repeats), "matrix": one_read([matrix.ravel(), y], repeats)}
    gigabytes = (matrix.nbytes + y.nbytes) / 1e9
    results = [
        line(f"one read of the bytes, {kind}", gigabytes / seconds, "GB/s on all cores")
        for kind, seconds in reads.items()
    ]
    for numeric in ("histogram", "gaussian"):
        for kind, data in (("data frame", frame), ("matrix", matrix)):
            ours = PrivateNB(1.0, schema=made_up_schema(), numeric=numeric)
            tasks = {"fit": partial(ours.fit, data, y), "predict": partial(ours.predict, data)}
            for task, bar in (("fit", 1 / 20), ("predict", 1 / 5)):
                tasks[task]()  # compile once
                seconds = best_of(repeats, tasks[task])
                ratio = seconds / theirs[task]
                results.append(
                    line(f"{task}, {numeric}, {kind}", ratio, "of scikit-learn's time", f"<= {bar:g}", ratio <= bar)
                )
                if task == "fit":
                    share = seconds / reads[kind]
                    results.append(
                        line(f"fit, {numeric}, {kind}", share, "of one read of the bytes", "<= 3", share <= 3)
                    )
    return results
