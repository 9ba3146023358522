"""Estimators of nodes in one process report how far their reading has come, as every other estimator does."""

from __future__ import annotations

from fractions import Fraction

import pytest

from discreet import Account, Budget, FederatedNB, GossipNB
from discreet.nodes.settings import Settings, node_plan
from discreet.privacy.composition import Totals
from discreet.privacy.nodes import concentrated
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
