"""Tasks for the engine's tests, importable by its worker processes."""

import os
import time

import numpy as np

from discreet_studies.tasks import Task


def tasks(count=96):
    return [
        Task("try", f"set{i % 4}", "method", 0.1 * (i + 1), repeat=i, options=(("n", 10 * i),)) for i in range(count)
    ]


def draw(task, seed):
    """A number that depends on the seed alone, after a little while."""
    time.sleep(0.02)
    return {"value": float(np.random.default_rng(seed).normal()), "fit_seconds": time.time()}


def faulty(task, seed):
    if task.repeat == 3:
        raise ValueError("three is out of order")
    return {"value": 1.0}


def deadly(task, seed):
    if task.repeat == 3:
        os._exit(9)
    return {"value": 1.0}


def threads(task, seed):
    from discreet.sources.blocks import workers

    return {"threads": workers(), "blas": os.environ["OPENBLAS_NUM_THREADS"]}
