"""Driver of interpret: the shape functions that its private additive model releases."""

import sys

sys.path.append(sys.path.pop(0))  # this file is called as the library is

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier
from serve import serve


def ebm(epsilon, delta, bounds, rounds):
    """Intercept, scores and bin weights of every term."""

    def release(data):
        model = DPExplainableBoostingClassifier(
            epsilon=epsilon,
            delta=delta,
            feature_types=["continuous"],
            privacy_bounds={0: tuple(bounds)},
            max_bins=4,
            max_rounds=rounds,
            n_jobs=1,
        )
        model.fit(np.array(data["X"]), np.array(data["y"]))
        scores, weights = (np.concatenate([np.ravel(term) for term in terms]) for terms in
                           (model.term_scores_, model.bin_weights_))  # fmt: skip
        return [*np.ravel(model.intercept_), *np.resize(scores, 6), *np.resize(weights, 6), scores.size]

    return release


serve("interpret-core", {"ebm": ebm})
