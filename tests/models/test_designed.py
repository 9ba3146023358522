"""Designed rows: values spread evenly over what is public or released, classes as the model has them."""

import numpy as np
import pandas as pd
import pytest

from discreet import Categorical, Date, ModelError, Numeric, PrivateNB, Schema
from discreet.additive.blocks import Blocks
from discreet.additive.model import AdditiveModel
from discreet.explanation import designed
from tests.models.test_explanation import KINDS, fitted

SIZE = 20_000  # shares of 0.1 and more are within 0.02 of what they should be: over five standard errors


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_with_probabilities_labels_evenly_spread_rows(kind, classes):
    model, _, _ = fitted(kind, classes)
    if not model.probabilistic:
        with pytest.raises(ModelError, match="has scores, not probabilities"):
            model.design(10)
        return
    rows = model.design(SIZE, 3)
    assert list(rows) == [*model.schema.names, "y"] and all(len(column) == SIZE for column in rows.values())
    for name, values in (("a", ["u", "v", "w", "else"]), ("k", range(6))):
        found = [rows[name].count(value) / SIZE for value in values]
        assert sum(found) == 1 and min(found) > 0.4 / len(found)
    assert rows["a"].count("u") / SIZE == pytest.approx(0.25, abs=0.02)
    assert None in rows["x"] and 0 <= min(x for x in rows["x"] if x is not None) < 0.1
    chance = model.predict_proba(np.array([rows["a"], rows["x"], rows["k"]], object).T)
    sure = chance.argmax(axis=1)
    for k in range(classes):
        of = np.array(rows["y"])[sure == k]
        assert len(of) < 400 or np.mean(of == k) == pytest.approx(chance[sure == k, k].mean(), abs=0.05)
    assert model.design(50, 3) == model.design(50, 3) != model.design(50, 4)
    assert model.design(0) == {"a": [], "x": [], "k": [], "y": []}
    with pytest.raises(ModelError, match="whole number"):
        model.design(-1)


def test_numbers_lie_between_the_knots_of_a_release(monkeypatch):
    """Where knots lie close together there are many rows, each gap with as many; elsewhere bins count alike."""
    model, _, _ = fitted(KINDS[1])
    x = model.schema.features[1]
    knots = (-x.lattice.half, x.lattice.point(1.0), x.lattice.point(2.0), x.lattice.half)
    blocks = Blocks(model.schema, (None, knots, None))
    found = AdditiveModel(blocks, np.zeros((1, blocks.columns)), model.certificate)
    values = found.design(SIZE, 1)["x"]
    numbers = np.array([value for value in values if value is not None])
    assert values.count(None) / SIZE == pytest.approx(0.25, abs=0.02)
    assert np.histogram(numbers, [0, 1, 2, 10])[0] / SIZE == pytest.approx([0.25] * 3, abs=0.02)
    assert list(found.parts_of(model.schema.features[2])) == [
        -model.schema.features[2].lattice.half, *model.schema.features[2].cuts, model.schema.features[2].lattice.half
    ]  # fmt: skip


def test_values_are_as_columns_write_them():
    schema = Schema(
        [
            Date("born", "2000-01-01", "2001-12-31", unit="month"),
            Numeric("skew", 1, 1000, transform="log"),
            Categorical("on", [True, False], missing="category"),
        ],
        "y",
        ["no", "yes"],
    )
    rng = np.random.default_rng(0)
    born = [f"200{i % 2}-0{1 + i % 9}-01" for i in range(200)]
    frame = pd.DataFrame({"born": born, "skew": np.exp(rng.random(200) * 6), "on": [True, False] * 100})
    model = PrivateNB(1.0, schema=schema).fit(frame, ["no", "yes"] * 100).model_
    rows = model.design(SIZE, 0)
    again = pd.DataFrame({name: rows[name] for name in schema.names})
    assert model.predict_proba(again).shape == (SIZE, 2)  # every value has its place when it is read again
    assert rows["on"].count(None) / SIZE == pytest.approx(1 / 3, abs=0.02)
    assert all(isinstance(day, str) and "2000-01" <= day[:7] <= "2001-12" for day in rows["born"])
    assert 1 <= min(rows["skew"]) < 1.2 and 900 < max(rows["skew"]) <= 1000
    assert designed(model, 5, np.random.default_rng(0)).keys() == rows.keys()
