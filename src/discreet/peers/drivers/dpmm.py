"""Driver of dpmm: tables of the rows that its generative models draw."""

import sys

sys.path.append(sys.path.pop(0))  # this file is called as the library is

import numpy as np
import pandas as pd
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from serve import serve


def model_of(kind):
    """Counts of all cells among the drawn rows."""

    def generative(epsilon, delta, domain, iterations, rows):
        def release(data):
            more = {"n_jobs": 1} if kind is AIMGM else {}
            model = kind(
                epsilon=epsilon,
                delta=delta,
                domain=domain,
                n_iters=iterations,
                random_state=np.random.RandomState(),
                **more,
            )
            model.fit(pd.DataFrame(data))
            made = model.generate(n_records=rows)
            codes = np.ravel_multi_index([made[name].to_numpy().astype(int) for name in domain], tuple(domain.values()))
            return np.bincount(codes, minlength=int(np.prod(list(domain.values()))))

        return release

    return generative


serve("dpmm", {"aim": model_of(AIMGM), "mst": model_of(MSTGM)})
