"""People whose reports the tests send: a small schema, rows of it, and reports about them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from discreet import Categorical, Numeric, Schema
from discreet.local.bulk import report_rows
from discreet.local.campaign import Campaign
from discreet.sources import read_rows
from tests.local.wire.reference import frames

SCHEMA = Schema(
    [
        Categorical("colour", ["red", "green", "blue"]),
        Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100]),
        Numeric("dose", 0, 1, step=0.25, bins=4),
    ],
    target="ill",
    classes=["no", "yes"],
)
OTHER = Schema([Categorical("colour", ["red", "green", "blue"])], target="ill", classes=["no", "yes"])


def table(size: int, seed: int = 1) -> pd.DataFrame:
    """Rows of the schema in which the colour tells the class."""
    rng = np.random.default_rng(seed)
    ill = rng.random(size) < 0.3
    colour = np.where(rng.random(size) < 0.8, np.where(ill, "red", "blue"), "green")
    return pd.DataFrame(
        {
            "colour": colour.astype(object),
            "age": rng.integers(0, 101, size),
            "dose": rng.integers(0, 5, size) / 4,
            "ill": np.where(ill, "yes", "no").astype(object),
        }
    )


def report_file(
    size: int, epsilon: float = 1.0, *, seed: int = 1, schema: Schema = SCHEMA, **settings: object
) -> bytes:
    """A report of each of that many people, one after another."""
    campaign = Campaign(schema, epsilon, **settings)
    rows = next(iter(read_rows(table(size, seed)[[*schema.names, schema.target]], schema)))
    return report_rows(campaign, rows, rng=np.random.default_rng(seed))


def report_list(size: int, epsilon: float = 1.0, **settings: object) -> list[bytes]:
    """The same, one by one."""
    return [frame for frame in frames(report_file(size, epsilon, **settings)) if frame]
