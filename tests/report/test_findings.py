import pytest

from discreet.errors import DiscreetError
from discreet.report import read


def test_a_folder_of_everything(results):
    found = read([results])
    assert {row["name"]: row["bound"] for row in found.audits} == {"discrete-laplace": 0.8, "broken": 3.5}
    assert [(row["study"], row["verdict"]) for row in found.claims] == [
        ("paper2020", "holds"), ("paper2020", "undecided"),
    ]  # fmt: skip
    assert [row["met"] for row in found.benchmarks] == ["yes", "no"]
    (model,) = found.models
    assert model["epsilon"] == 1.0 and model["private"]
    assert {row["source"] for row in found.scores} == {"compare.json", "utility.json", "paper2020"}
    assert {row["step"] for row in found.convergence} == {1, 2}
    assert len(found.files) == 7


def test_means_and_errors_are_over_repeats(results):
    found = read([results / "paper2020" / "results.parquet"])
    (row,) = [row for row in found.scores if row["epsilon"] == 0.1]
    assert row["count"] == 3 and row["mean"] == pytest.approx(0.61)
    assert row["error"] == pytest.approx(0.01 / 3**0.5)
    assert row["high"] - row["low"] == pytest.approx(4 * row["error"])


def test_infinite_epsilon_has_no_place_on_the_axis(results):
    rows = read([results / "compare.json"]).scores
    assert [row["epsilon"] for row in rows if row["method"] == "svm"] == [0.1, 1.0, None]


def test_the_parts_of_a_budget_add_up_to_the_whole(results):
    (model,) = read([results / "model.json"]).models
    whole, parts = model["flows"][0], [row for row in model["flows"] if row["depth"] == 1]
    assert whole["cost"] == pytest.approx(sum(row["cost"] for row in parts)) == pytest.approx(1.0)


def test_shapes_have_numbers_and_words(results):
    (model,) = read([results / "model.json"]).models
    by = {}
    for row in model["shapes"]:
        by.setdefault(row["feature"], []).append(row)
    assert all(row["numeric"] for row in by["x"]) and not any(row["numeric"] for row in by["a"])
    assert all(row["low"] < row["value"] < row["high"] for row in by["a"])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("x.json", "{}", "holds no results"),
        ("x.json", "[1, 2", "cannot be read as results"),
        ("x.json", '{"schema": 1, "certificate": {}}', "cannot be read|no model|not"),
        ("x.parquet", "PAR1", "cannot be read as results"),
    ],
)
def test_other_files_are_refused_by_name(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(DiscreetError, match=words):
        read([path])


def test_empty_folders_and_missing_files(tmp_path):
    with pytest.raises(DiscreetError, match="holds no results"):
        read([tmp_path])
    with pytest.raises(DiscreetError, match="there is no file"):
        read([tmp_path / "none.json"])
