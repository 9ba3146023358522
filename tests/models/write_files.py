"""How the files of `files/` were written, with version 0.1 of the library: seeded fits on Fisher's irises.

They stand for what users keep: never write them again, add files of later versions beside them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from discreet import (
    Categorical,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateClassifier,
    PrivateForestClassifier,
    PrivateHoldout,
    PrivateJointHistogram,
    PrivateLogisticRegression,
    PrivateNB,
    PrivateSVC,
    PrivateTAN,
    PrivateTreeClassifier,
    Schema,
)

FLOWERS = ["setosa", "versicolor", "virginica"]


def irises(classes: int = 3) -> tuple[Schema, Any, Any]:
    """Three features of the irises, and the first two or all three kinds."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    kept = y < classes
    table = np.column_stack([X[:, 2], X[:, 3], np.where(X[:, 0] > 5.8, 1, 0)])[kept]
    features = [
        Numeric("petal length", 0, 8, bins=4),
        Numeric("petal width", 0, 3, bins=3, missing="bin"),
        Categorical("long sepal", [0, 1]),
    ]
    return Schema(features, "species", FLOWERS[:classes]), table, np.array(FLOWERS)[y[kept]]


def models() -> dict[str, tuple[Any, int]]:
    """An estimator for each kind of file, and the number of classes to fit it to."""
    many = irises()[0]
    two = irises(2)[0]
    return {
        "naive-bayes": (PrivateNB(1.0, schema=many, random_state=0), 3),
        "naive-bayes-gaussian": (PrivateNB(2.0, 1e-6, schema=many, numeric="gaussian", random_state=1), 3),
        "calibrated": (PrivateClassifier(200.0, two, "naive-bayes", random_state=2), 2),
        "held-out": (PrivateHoldout(PrivateNB(2.0, schema=two), random_state=3), 2),
        "svm": (PrivateSVC(4.0, many, random_state=4), 3),
        "logistic": (PrivateLogisticRegression(4.0, two, numeric="scaled", random_state=5), 2),
        "tree": (PrivateTreeClassifier(4.0, many, depth=2, random_state=6), 3),
        "forest": (PrivateForestClassifier(4.0, many, depth=2, n_estimators=3, random_state=7), 3),
        "additive": (PrivateAdditiveClassifier(8.0, two, pairs=0, random_state=8), 2),
        "additive-pairs": (PrivateAdditiveClassifier(8.0, many, pairs=1, numeric="binned", random_state=9), 3),
        "tan": (PrivateTAN(4.0, many, random_state=10), 3),
        "joint": (PrivateJointHistogram(4.0, many, random_state=11), 3),
        "auto": (PrivateClassifier(4.0, many, random_state=12), 3),
    }


def main(folder: Path) -> None:
    """Write one model file of each kind, and what each answers to ten rows."""
    answers = {}
    for name, (estimator, classes) in models().items():
        _, X, y = irises(classes)
        model = estimator.fit(X, y).model_
        model.save(folder / f"v0.1-{name}.json")
        rows = X[:: len(X) // 10].astype(object)
        rows[0, 1] = np.nan
        probabilistic = model.probabilistic
        scores = model.predict_proba(rows) if probabilistic else model.decision_function(rows)
        answers[name] = {
            "rows": [[None if value != value else value for value in row] for row in rows.tolist()],
            "scores": scores.tolist(),
            "labels": model.predict(rows).tolist(),
            "features": model.kinds,
            "most_frequent": model.most_frequent(),
            "repr": repr(model),
        }
    (folder / "answers.json").write_text(json.dumps(answers, indent=None) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
