"""Demonstration data: rows drawn from a released private model of Adult that comes with the package."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import numpy as np

from discreet.bayes.model import NaiveBayesModel

STORY = (
    "The rows are synthetic: drawn from a differentially private model (epsilon = 1) of the Adult census data,\n"
    "which comes with this package. Nobody stands behind any row. Features are independent\n"
    "within a class by construction, so accuracy here is higher than on the real census."
)


def adult() -> NaiveBayesModel:
    """The released model the demonstration rows are drawn from."""
    with as_file(files(__name__) / "adult.json") as path:
        return NaiveBayesModel.load(path)


def write_rows(path: Path, size: int, seed: int) -> None:
    """Draw rows and write them as CSV."""
    import pyarrow as pa
    import pyarrow.csv as csv

    columns = adult().sample(size, rng=np.random.default_rng(seed))
    csv.write_csv(pa.table(columns), path)
