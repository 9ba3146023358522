import datetime
import warnings

import numpy as np
import pytest

from discreet import Categorical, FederatedNB, GossipNB, Numeric, PrivateHoldout, PrivateNB, Schema
from discreet.dossier import QUESTIONS, Answers
from discreet.local import Collector, LocalClient

SCHEMA = Schema(
    features=[Categorical("smoker", ["never", "<b>former</b>"]), Numeric("age", 0, 110, integer=True)],
    target="ill",
    classes=["no", "yes"],
)


def rows(n=300):
    rng = np.random.default_rng(5)
    ill = rng.random(n) < 0.4
    X = [["never" if rng.random() < 0.5 else "<b>former</b>", int(rng.integers(20, 90))] for _ in range(n)]
    return X, np.where(ill, "yes", "no").tolist()


@pytest.fixture(scope="session")
def models():
    """One model of each trust model, and of both kinds of guarantee."""
    X, y = rows()
    client, collector = LocalClient(SCHEMA, epsilon=2.0, memory=None), Collector(SCHEMA)
    collector.add(client.report({"smoker": "never", "age": 41, "ill": "no"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "central": PrivateNB(1.0, schema=SCHEMA).fit(X, y).model_,
            "delta": PrivateNB(
                0.5, delta=1e-6, schema=SCHEMA, adjacency="replace", contributions=2, mechanism="gaussian"
            )
            .fit(X, y)
            .model_,
            "held": PrivateHoldout(PrivateNB(4.0, schema=SCHEMA), share=0.3).fit(X, y).model_,
            "local": collector.model(),
            "federated": FederatedNB(1.0, schema=SCHEMA, n_nodes=3).fit(X, y).model_,
            "secure": FederatedNB(1.0, schema=SCHEMA, n_nodes=3, secure=True).fit(X, y).model_,
            "gossip": GossipNB(1.0, schema=SCHEMA, n_nodes=3, rounds=20).fit(X, y).model_,
        }


@pytest.fixture(scope="session")
def full():
    """An answer to everything."""
    sections = {}
    for one in QUESTIONS:
        value = {int: 300, bool: True, datetime.date: datetime.date(2027, 1, 31)}.get(one.kind)
        if value is None:
            value = (
                one.choices[0] if one.choices else f"Answer <i>{one.key}</i> & more: \"quoted\", 'single'\nand a line."
            )
        sections.setdefault(one.section, {})[one.name] = value
    return Answers(sections)
