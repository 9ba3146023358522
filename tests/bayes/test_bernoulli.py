"""PrivateNB with partitioned tables and with thresholded counts."""

import math

import numpy as np
import pandas as pd
import pytest

from discreet import Categorical, PrivateNB, Schema
from discreet.errors import BudgetError, DataError
from discreet.privacy.certificate import GroupRecord

SCHEMA = Schema([Categorical(f"f{j}", [0, 1]) for j in range(20)], "y", [0, 1])


@pytest.fixture(scope="module")
def dense():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 12_000)
    return (rng.random((12_000, 20)) < np.where(y == 1, 0.8, 0.5)[:, None]).astype(int), y


def test_every_row_is_counted_once(dense):
    X, y = dense
    fitted = PrivateNB(math.inf, schema=SCHEMA, strategy="partition").fit(X, y)
    counted = np.array([table.sum(axis=1) for table in fitted.release_.values.values()])
    assert np.array_equal(counted.sum(axis=0), np.bincount(y))
    assert counted.sum(axis=1).min() > 400
    assert np.allclose(np.exp(fitted.model_.log_prior), np.bincount(y) / len(y))
    # 12,000 rows over 20 features: of 300 rows of a class, seven standard errors of a share of 0.8 are 0.16.
    on = np.exp([likelihood.log_prob[1, 1] for likelihood in fitted.model_.likelihoods])
    assert np.abs(on - 0.8).max() < 0.17


def test_rows_are_not_dealt_by_their_place():
    """Classes alternate: dealt in turn, each of 20 features would see one class. 150 rows of each are expected here,
    and fewer than 50 are more than eight standard errors away."""
    y = np.arange(6000) % 2
    fitted = PrivateNB(math.inf, schema=SCHEMA, strategy="partition").fit(np.zeros((6000, 20), int), y)
    assert np.array([table.sum(axis=1) for table in fitted.release_.values.values()]).min() > 50


def test_parts_get_the_whole_budget_in_parallel(dense):
    fitted = PrivateNB(0.5, schema=SCHEMA, strategy="partition", random_state=3).fit(*dense)
    ledger = fitted.certificate_.ledger
    assert isinstance(ledger, GroupRecord) and ledger.parts[0].node == "parallel"
    assert "drawn uniformly" in ledger.parts[0].assumption
    assert {charge.spread for charge in fitted.certificate_.charges()} == {"2"}
    assert fitted.certificate_.epsilon == "1/2"


def test_files_are_partitioned_too(dense, tmp_path):
    X, y = dense
    frame = pd.DataFrame(X, columns=list(SCHEMA.names))
    frame["y"] = y
    frame.to_parquet(tmp_path / "rows.parquet")
    fitted = PrivateNB(math.inf, schema=SCHEMA, strategy="partition").fit(tmp_path / "rows.parquet")
    assert sum(int(table.sum()) for table in fitted.release_.values.values()) == len(y)
    with pytest.raises(DataError, match="no rows"):
        PrivateNB(1.0, schema=SCHEMA, strategy="partition").fit(X[:0], y[:0])


def test_thresholded_cells_say_nothing():
    """At ε = 0.001 all counts drown: every cell is raised to the 65 % point of its noise, or lies above it."""
    X = np.tile([[0] * 20, [1] * 20], (50, 1))
    y = np.tile([0, 1], 50)
    fitted = PrivateNB(0.001, schema=SCHEMA, threshold=0.65, split="equal", random_state=1).fit(X, y)
    scale = float(fitted.release_.plan.items[-1].charge.spread)
    floor = -scale * math.log(2 * 0.35)
    tables = np.array([np.exp(one.log_prob) for one in fitted.model_.likelihoods])
    raised = np.array([np.all(table <= floor, axis=1) for table in fitted.release_.values.values()][-20:])
    assert raised.any()
    assert np.allclose(tables[raised], 0.5)
    exact = PrivateNB(math.inf, schema=SCHEMA, threshold=0.65).fit(X, y).model_
    plain = PrivateNB(math.inf, schema=SCHEMA).fit(X, y).model_
    assert np.array_equal(exact.likelihoods[0].log_prob, plain.likelihoods[0].log_prob)


@pytest.mark.parametrize(
    "settings",
    [
        {"strategy": "apart"},
        {"strategy": "partition", "delta": 1e-6},
        {"strategy": "partition", "threshold": 0.65},
        {"threshold": 0.4},
        {"threshold": 1},
        {"threshold": "high"},
        {"threshold": 0.65, "delta": 1e-6},
    ],
)
def test_bad_settings_get_a_sentence(dense, settings):
    with pytest.raises(BudgetError):
        PrivateNB(1.0, schema=SCHEMA, **settings).fit(*dense)
