import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from discreet import Categorical, Numeric, PrivateNB, Schema

SCHEMA = Schema([Categorical("a", ["u", "</script>"]), Numeric("x", 0, 10)], "y", ["no", "yes"])


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    """A folder with a file of every kind that a report shows."""
    folder = tmp_path_factory.mktemp("results")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = [["u" if one else "</script>", float(rng.integers(0, 10))] for one in y]
    PrivateNB(1.0, schema=SCHEMA).fit(X, np.where(y, "yes", "no").tolist()).model_.save(folder / "model.json")
    audit = {
        "name": "discrete-laplace", "epsilon": 1.0, "delta": 0.0, "lower_bound": 0.8, "confidence": 0.95,
        "verdict": "consistent", "samples": 100, "pair": "one row more",
    }  # fmt: skip
    leak = audit | {"name": "broken", "lower_bound": 3.5, "verdict": "violated"}
    (folder / "audits.json").write_text(json.dumps([audit, leak]))
    figures = [
        {"model": name, "epsilon": level, "accuracy": 0.7 + place / 10, "error": 0.01, "repeats": 3}
        for place, name in enumerate(("svm", "tree"))
        for level in (0.1, 1.0, "inf")
    ]
    (folder / "compare.json").write_text(json.dumps({"warning": "", "simulation": True, "figures": figures}))
    cells = [{"data": "seeds", "method": "nb", "epsilon": 0.5, "seeds": 5, "accuracy": 0.8, "accuracy_error": 0.01,
              "auc": None, "auc_error": None}]  # fmt: skip
    utility = {"editions": [], "datasets": {"seeds": {"title": "Seeds"}}, "cells": cells, "contests": []}
    (folder / "utility.json").write_text(json.dumps(utility))
    bench = {"speed": [
        {"what": "fit", "measured": 2.3, "unit": "x", "bar": "<= 3", "met": True},
        {"what": "predict", "measured": 9.3, "unit": "x", "bar": "<= 3", "met": False},
    ]}  # fmt: skip
    (folder / "benchmarks.json").write_text(json.dumps(bench))
    study = folder / "paper2020"
    study.mkdir()
    claims = [{"claim": "more is better", "verdict": "holds", "reason": "+.1 ± .01"},
              {"claim": "less is <worse>", "verdict": "undecided", "reason": "40 repeats would decide"}]  # fmt: skip
    (study / "claims.json").write_text(json.dumps(claims))
    rows = [
        {"data": "Seeds", "method": "sound", "epsilon": level, "accuracy": 0.6 + repeat / 100, "repeat": repeat,
         "rounds": step, "error": None}
        for level in (0.1, 1.0) for repeat in range(3) for step in (None, 1, 2)
    ]  # fmt: skip
    rows.append({**rows[0], "accuracy": None, "error": "failed"})
    parquet.write_table(pa.Table.from_pylist(rows), study / "results.parquet")
    return folder
