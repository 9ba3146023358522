"""Features chosen from a released model: by its tables alone, and the schema of them says what the model cost."""

import json

import numpy as np
import pytest

from discreet import Categorical, FederatedNB, Numeric, PrivateNB, Schema
from discreet.errors import BudgetError
from discreet.selection import choose_from_model
from discreet.selection.released import model_bits

SCHEMA = Schema(
    [Categorical("dull", [0, 1, 2]), Categorical("telling", [0, 1]), Numeric("hint", 0, 10)], "y", ["no", "yes"]
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 4000)
    telling = np.where(rng.random(4000) < 0.9, y, 1 - y)
    hint = np.clip(rng.normal(4 + y, 2), 0, 10)
    return np.column_stack([rng.integers(0, 3, 4000), telling, hint]), np.array(["no", "yes"])[y]


def test_bits_are_those_of_the_model_s_own_tables(rows):
    X, y = rows
    model = PrivateNB(float("inf"), schema=SCHEMA, smoothing=0).fit(X, y).model_
    bits = model_bits(model.log_prior, list(model.likelihoods), SCHEMA)
    joint = np.array([[np.mean((X[:, 1] == v) & (y == c)) for v in (0, 1)] for c in ("no", "yes")])
    apart = joint.sum(axis=0) * joint.sum(axis=1, keepdims=True)
    assert bits[1] == pytest.approx((joint * np.log2(joint / apart)).sum(), abs=1e-6)
    assert bits[1] > bits[2] > bits[0] >= -1e-12


def test_two_rounds_of_a_federation(rows):
    """The second schema carries the first round's certificate, and the second model is a charge of its own."""
    X, y = rows
    first = FederatedNB(epsilon=5.0, schema=SCHEMA, n_nodes=5).fit(X, y)
    choice = choose_from_model(first.model_, 2)
    assert choice.names == ("telling", "hint")
    assert choice.schema.names == ("telling", "hint") and not choice.schema.inferred
    assert "the choice of features" in str(choice.schema.provenance)
    second = FederatedNB(epsilon=5.0, schema=choice.schema, n_nodes=5).fit(X[:, 1:], y)
    assert second.score(X[:, 1:], y) > 0.85


def test_a_choice_from_exact_counts_says_that_it_was_read_off(rows):
    X, y = rows
    exact = PrivateNB(float("inf"), schema=SCHEMA).fit(X, y).model_
    assert choose_from_model(exact, 1).schema.inferred
    seeded = PrivateNB(1.0, schema=SCHEMA, random_state=0).fit(X, y).model_
    assert choose_from_model(seeded, 1).schema.inferred  # a simulation is not for release


def test_a_curve_has_no_table(rows):
    X, y = rows
    curves = PrivateNB(1.0, schema=SCHEMA, numeric="gaussian").fit(X, y).model_
    with pytest.raises(BudgetError, match="'hint' is modelled by a curve"):
        choose_from_model(curves, 1)
    tables = PrivateNB(1.0, schema=SCHEMA).fit(X, y).model_
    with pytest.raises(BudgetError, match="k must be a whole number from 1 to the 3"):
        choose_from_model(tables, 4)


def test_the_command_writes_a_schema_for_the_second_round(rows, tmp_path, discreet):
    X, y = rows
    model, out = tmp_path / "first.json", tmp_path / "selected.toml"
    PrivateNB(5.0, schema=SCHEMA).fit(X, y).model_.save(model)
    done = discreet("federate", "select", str(model), "-k", "1", "--out", str(out), "--json")
    assert json.loads(done.stdout)["features"] == ["telling"]
    assert Schema.load(out).names == ("telling",)
    shown = discreet("federate", "select", str(model), "-k", "2", "--out", str(out))
    assert "telling" in shown.stdout and "second round is a charge of its own" in shown.stderr
    refused = discreet("federate", "select", str(model), "-k", "9", "--out", str(out))
    assert refused.returncode == 2 and "k must be a whole number" in refused.stderr
    overwrite = discreet("federate", "select", str(model), "-k", "1", "--out", str(model))
    assert overwrite.returncode == 2 and model.read_text().startswith("{")
