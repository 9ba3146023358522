"""Data by manifest, folds and splits."""

import json

import numpy as np
import pytest

from discreet import DataError
from discreet_studies.data import DataSet, cross_validation, find_data, fingerprints, load, monte_carlo


def test_the_directory_must_be_named(monkeypatch, tmp_path):
    monkeypatch.delenv("DISCREET_DATA", raising=False)
    with pytest.raises(DataError, match="pass --data DIR or set DISCREET_DATA"):
        find_data()
    with pytest.raises(DataError, match=r"has no datasets\.json"):
        find_data(tmp_path)
    (tmp_path / "datasets.json").write_text("[]")
    monkeypatch.setenv("DISCREET_DATA", str(tmp_path))
    assert find_data() == tmp_path
    with pytest.raises(DataError, match="not a manifest"):
        fingerprints(tmp_path, ["adult"])


def test_a_data_set_the_manifest_lacks_is_named(tmp_path):
    (tmp_path / "datasets.json").write_text(json.dumps({"datasets": []}))
    with pytest.raises(DataError, match="lacks 'adult'"):
        fingerprints(tmp_path, ["adult"])


def test_codes_mean_what_the_manifest_says(data_dir):
    votes = load(data_dir, "votes")
    assert len(votes) == 435
    assert np.bincount(votes.y).tolist() == [267, 168]  # democrat, republican
    assert set(np.unique(votes.X)) == {0.0, 1.0, 2.0}
    assert votes.schema.classes == (0, 1)
    seeds = load(data_dir, "seeds", ("area", "perimeter"), 100)
    assert seeds.X.shape == (100, 2)
    assert (load(data_dir, "seeds", ("area", "perimeter"), 100).X == seeds.X).all()
    with pytest.raises(DataError, match="no feature 'length'"):
        load(data_dir, "seeds", ("length",))


@pytest.fixture
def small():
    y = np.repeat([0, 1, 2], [50, 30, 7]).astype(np.int64)
    return DataSet("small", None, np.zeros((87, 1)), y)


def test_folds_part_the_rows_and_share_out_the_classes(small):
    splits = [cross_validation(small, 0, fold, 5) for fold in range(5)]
    assert sorted(np.concatenate([split.test for split in splits])) == list(range(87))
    for split in splits:
        assert not set(split.train) & set(split.test)
        assert len(split.train) + len(split.test) == 87
        counts = np.bincount(small.y[split.test], minlength=3)
        assert counts[0] == 10
        assert counts[2] in (1, 2)
    again, other = cross_validation(small, 0, 2, 5), cross_validation(small, 1, 2, 5)
    assert (again.test == splits[2].test).all()
    assert again.seed == splits[0].seed != other.seed
    with pytest.raises(DataError, match="cannot make"):
        cross_validation(small, 0, 0, 88)


def test_monte_carlo_splits_differ_by_repeat(small):
    first, second = monte_carlo(small, 0, 0.2), monte_carlo(small, 1, 0.2)
    assert len(first.test) == 17
    assert len(first.train) == 70
    assert first.seed != second.seed
    assert set(first.test) != set(second.test)
    with pytest.raises(DataError, match="leaves nothing"):
        monte_carlo(small, 0, 1.0)
