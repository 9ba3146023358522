"""Estimators of nodes in one process: how far a reading has come, what it costs, and which rows may be dealt out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet import Account, Budget, Categorical, DataError, FederatedNB, GossipNB, Ledger, Schema, sources
from discreet.nodes.settings import Settings, node_plan
from discreet.privacy.composition import Totals
from discreet.privacy.nodes import concentrated
from discreet.sources import HeldRows
from tests.federated.common import SCHEMA, rows


@pytest.mark.parametrize("kind", [FederatedNB, GossipNB])
def test_progress_is_told(kind):
    X, y = rows(100, 0)
    told = []
    kind(1.0, schema=SCHEMA, n_nodes=3, random_state=0).fit(X, y, progress=lambda done, _: told.append(done))
    assert told and told[-1] == 100


@pytest.mark.parametrize("kind", [FederatedNB, GossipNB])
def test_the_dearest_node_is_charged_in_every_measure(kind, tmp_path):
    X, y = rows(100, 0)
    account = Account.create(tmp_path / "rows.account", Budget(3, delta=1e-6))
    kind(1.0, schema=SCHEMA, n_nodes=3, epsilons=[0.5, 2.0, 1.0]).fit(X, y, account=account)
    paid = account.totals
    # Tables of one node are released one after the other: their rho is that of their shares of epsilon.
    dearest = node_plan(SCHEMA, Settings(), Budget(2), "auto")
    assert paid == Totals(Fraction(2), Fraction(0), concentrated(dearest.node)) and paid.rho > 0


@pytest.mark.parametrize("kind", [FederatedNB, GossipNB])
def test_rows_without_an_order_are_not_dealt_by_place(kind):
    frames = pytest.importorskip("dask.dataframe")
    rows = pd.DataFrame({"c": ["a", "b"] * 20, "y": [0, 1, 1, 0] * 10})
    schema, ledger = Schema([Categorical("c", ["a", "b"])], "y", [0, 1]), Ledger(Budget(1))
    dealt = kind(0.5, schema=schema, n_nodes=2, partition=np.arange(40) % 2)
    with pytest.raises(DataError, match="the rows of this frame have none"):
        dealt.fit(frames.from_pandas(rows, npartitions=2), ledger=ledger)
    assert ledger.spent == 0
    kind(0.5, schema=schema, n_nodes=2).fit(frames.from_pandas(rows, npartitions=2))
    dealt.fit(pl.from_pandas(rows).lazy())


def test_rows_that_are_left_out_of_several_batches_keep_the_places_of_the_others(monkeypatch):
    rows = pd.DataFrame({"c": ["a", "b", "z", "b"] * 30, "y": [0, 1] * 60})
    schema = Schema([Categorical("c", ["a", "b"])], "y", [0, 1])
    where = np.arange(120) % 3
    told = []
    for data in (rows, pl.from_pandas(rows).lazy()):
        monkeypatch.setattr("discreet.sources.tables.BATCH", 7)
        made = FederatedNB(
            1.0, schema=schema, n_nodes=3, partition=where, unexpected="absorb", random_state=5, mechanism="laplace"
        )
        told.append(made.fit(data).model_.to_dict())
    assert told[0] == told[1]
    first = HeldRows.of(schema, next(sources.read_rows(rows[:4], schema, unexpected="absorb")), total=True)
    both = HeldRows.gathered([first, first], schema, total=True)
    assert both.places.tolist() == [0, 1, 3, 4, 5, 7] and both.read == 8
