"""Driver of dpmm: the joint table that its generative models hold once they are fitted."""

import sys

sys.path.append(sys.path.pop(0))  # this file is called as the library is

import numpy as np
import pandas as pd
from dpmm.models import mst
from dpmm.models.aim import AIMGM
from serve import serve


def table_of(model, data, domain):
    """Expected counts of all cells: what rows are drawn from, and so at least as telling as any number of rows."""
    model.fit(pd.DataFrame(data))
    return np.ravel(model.generator.model.project(tuple(domain)).datavector())


def aim(epsilon, delta, domain, iterations):
    """AIM in its usual number of rounds."""

    def release(data):
        draws = np.random.RandomState()
        made = AIMGM(epsilon=epsilon, delta=delta, domain=domain, n_iters=iterations, random_state=draws, n_jobs=1)
        return table_of(made, data, domain)

    return release


def spanning_tree(epsilon, delta, domain, iterations, selection_iterations):
    """MST, whose choice of pairs fits a table to noisy counts first, in 2,500 iterations unless it is told here."""
    whole = mst.FactoredInference

    def release(data):
        def fitted(domain, iters, **more):
            return whole(domain, iters=min(iters, selection_iterations), **more)

        draws = np.random.RandomState()
        made = mst.MSTGM(epsilon=epsilon, delta=delta, domain=domain, n_iters=iterations, random_state=draws, n_jobs=1)
        mst.FactoredInference = fitted
        try:
            return table_of(made, data, domain)
        finally:
            mst.FactoredInference = whole

    return release


serve("dpmm", {"aim": aim, "mst": spanning_tree})
