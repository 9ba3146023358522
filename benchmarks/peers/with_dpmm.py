"""AIM of dpmm with its own defaults: private synthetic rows at (ε, 1e-6), and boosted trees that learn from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers.prepared import Prepared, spread

DELTA = 1e-6
BINS = 32  # of numbers, of equal width between their public bounds
ITERATIONS = 100
CLASS = "class"


def score(data: Prepared, method: str, epsilon: float, seed: int) -> Any:
    """Scores of the test rows, one column per class."""
    import pandas as pd
    from dpmm.models.aim import AIMGM
    from sklearn.ensemble import HistGradientBoostingClassifier

    train, test = data.splits[seed]
    codes, sizes = data.coded(BINS)
    names = [f"x{j}" for j in range(len(sizes))]
    rows = pd.DataFrame(codes[train], columns=names).assign(**{CLASS: data.y[train]})
    domain = dict(zip([*names, CLASS], [*sizes, data.classes], strict=True))
    model = AIMGM(
        epsilon=epsilon,
        delta=DELTA,
        domain=domain,
        n_iters=ITERATIONS,
        random_state=np.random.RandomState(seed),
        n_jobs=1,
    )
    model.fit(rows)
    made = model.generate()
    nominal = [2 < (feature.categories or 0) <= 255 for feature in data.features]
    boosted = HistGradientBoostingClassifier(categorical_features=nominal, early_stopping=False, random_state=seed)
    boosted.fit(made[names].to_numpy(), made[CLASS].to_numpy())
    with np.errstate(divide="ignore"):
        return spread(np.log(boosted.predict_proba(codes[test])), boosted.classes_, data.classes)
