"""What parts of the automatic choice's budget cost: each way to spend does what it says."""

import json
from fractions import Fraction

import numpy as np
import pytest
from benchmarks.decisions import forced

from benchmarks import spending
from discreet import Categorical, DataError, Numeric, PrivateClassifier, Schema

SCHEMA = Schema([*(Numeric(f"x{j}", 0, 100) for j in range(6)), Categorical("a", range(3))], "y", [0, 1])


def fitted(name):
    rng = np.random.default_rng(0)
    y = (rng.random(6000) < 0.3).astype(np.int64)
    X = np.column_stack([np.minimum(rng.gamma(1, 2 + y, len(y)), 100) for _ in range(6)] + [rng.integers(0, 3, len(y))])
    way = spending.WAYS[name]
    with forced(dict(way.forced)):
        return PrivateClassifier(way.times, SCHEMA, "naive-bayes", random_state=1, **way.settings).fit(X, y), y


def test_counts_for_nothing_leave_the_model_all_of_epsilon():
    usual, free = (fitted(name)[0] for name in (spending.USUAL, "counts for nothing"))
    left = [float(Fraction(one.certificate_.epsilon) - one.counts_.cost) for one in (usual, free)]
    assert left == pytest.approx([0.99, 1.0])


def test_counts_without_noise_are_the_rows():
    made, y = fitted("counts without noise")
    assert made.counts_.values.tolist() == np.bincount(y).tolist()
    assert fitted(spending.USUAL)[0].counts_.values.tolist() != np.bincount(y).tolist()


def test_looks_for_nothing_and_no_calibration_spend_as_they_say():
    looks, plain = fitted("looks for nothing")[0], fitted("no calibration")[0]
    assert float(Fraction(looks.certificate_.epsilon)) == pytest.approx(1 + 0.99 * 0.04)
    text = str(fitted(spending.USUAL)[0].certificate_.model_dump())
    assert "scores in bins, by class" in text
    assert "scores in bins, by class" not in str(plain.certificate_.model_dump())


@pytest.mark.parametrize("share", [1, 2, 4, 8])
def test_the_share_of_counts_is_what_the_way_is_called(share):
    made = fitted(f"counts by {share}%")[0]
    assert made.counts_.cost == Fraction(share, 100) and len(made.counts_.charges) == 1
    assert made.certificate_.epsilon == "1"


def test_the_bins_of_the_schema_are_kept():
    assert fitted("bins of the schema")[0].model_.schema.features[0].bins == SCHEMA.features[0].bins
    assert fitted(spending.USUAL)[0].model_.schema.features[0].bins != SCHEMA.features[0].bins


def test_gains_are_means_over_tables_of_means_over_seeds(tmp_path):
    told = {"edition": "x", "epsilon": 1.0}
    with (tmp_path / "spending.jsonl").open("w") as file:
        for data, rows, gains in (("a", 2000, (0.1, 0.3)), ("b", 3000, (0.0, 0.0)), ("small", 100, (0.5, 0.7))):
            for seed, gain in enumerate(gains):
                for way, score in ((spending.USUAL, 0.2), ("no calibration", 0.2 + gain)):
                    one = {"data": data, "rows": rows, "seed": seed, "way": way, "score": score, **told}
                    file.write(json.dumps(one) + "\n")
        file.write(json.dumps({"data": "a", "rows": 2000, "seed": 7, "way": "x", "score": 0.9, **told}) + "\n")
    small, large = spending.run(folder=tmp_path, report=True)
    assert (small["measured"], small["unit"]) == (0.6, "gained ± 0.1000")
    assert (large["measured"], large["unit"]) == (0.1, "gained ± 0.1000")
    assert "2 tables of at least 1,000 rows" in large["what"]


def test_a_way_that_nobody_knows_is_refused():
    with pytest.raises(DataError, match="no part"):
        spending.run(methods=["prayer"])


def test_a_part_of_epsilon_is_worth_what_scores_rise_by():
    told = [
        {"way": way, "data": data, "rows": 2000, "seed": 0, "epsilon": epsilon, "score": 0.5 + rise * np.log(epsilon)}
        for data, rise in (("a", 0.1), ("b", 0.3))
        for epsilon in (1.0, 2.0)
        for way in (spending.USUAL, "no calibration")
    ]
    (found,) = spending.worth(told)
    assert (found["measured"], found["unit"]) == (0.006, "worth ± 0.00300")
    assert found["what"] == "3% of epsilon between 1 and 2, 2 tables of at least 1,000 rows"
