"""Three houses with rows, a schema and ledgers of their own."""

from __future__ import annotations

import pytest

from discreet.federated.flower import keep_quiet
from discreet.federated.flower.answers import AnsweringSite, FederatedTerms
from discreet.privacy.budget import Budget

collect_ignore = ["guard"]  # for the processes of a deployment, not for this one


@pytest.fixture(scope="session", autouse=True)
def quiet(tmp_path_factory):
    keep_quiet(tmp_path_factory.mktemp("flower"))


@pytest.fixture
def houses(tmp_path, schema, frame):
    """Open houses a, b and c; each has 200 rows and pays for two rounds of epsilon = 1."""
    schema.save(tmp_path / "schema.json")
    opened = {}
    for i, name in enumerate("abc"):
        frame.iloc[200 * i : 200 * (i + 1)].to_parquet(tmp_path / f"{name}.parquet")
        terms = FederatedTerms(
            name, str(tmp_path / f"{name}.parquet"), schema, Budget(1), Budget(2), tmp_path / f"{name}.ledger"
        )
        opened[name] = AnsweringSite(terms)
    yield opened
    for house in opened.values():
        house.close()
