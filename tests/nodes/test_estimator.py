"""Estimators of nodes in one process report how far their reading has come, as every other estimator does."""

from __future__ import annotations

import pytest

from discreet import FederatedNB, GossipNB
from tests.federated.common import SCHEMA, rows


@pytest.mark.parametrize("kind", [FederatedNB, GossipNB])
def test_progress_is_told(kind):
    X, y = rows(100, 0)
    told = []
    kind(1.0, schema=SCHEMA, n_nodes=3, random_state=0).fit(X, y, progress=lambda done, _: told.append(done))
    assert told and told[-1] == 100
