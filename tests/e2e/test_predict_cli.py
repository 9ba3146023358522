"""Predictions that people can use, and synthetic rows: the commands, run in this process."""

import io
import json
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest

from discreet import (
    Account,
    Categorical,
    Numeric,
    PrivateAdditiveClassifier,
    PrivateHoldout,
    PrivateNB,
    PrivateTAN,
    Schema,
    load,
)
from discreet.cli import app
from discreet.cli.running import run
from discreet.errors import DataError, ModelError
from discreet.explanation import LIMITS
from discreet.sources import read_rows

SCHEMA = Schema([Categorical("a", ["u", "v"]), Numeric("x", 0, 10, missing="bin")], "y", ["no", "yes"])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("place")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 3000)
    x = np.clip(rng.normal(3 + 3 * y, 2), 0, 10).round(2)
    rows = pd.DataFrame({"id": np.arange(3000), "ward": [f"W, {i % 3}" for i in range(3000)]})
    rows = rows.assign(a=np.where(rng.random(3000) < 0.3 + 0.4 * y, "u", "v"), x=x, y=np.array(["no", "yes"])[y])
    rows.loc[::50, "x"] = np.nan
    rows.to_csv(folder / "rows.csv", index=False)
    rows.to_json(folder / "rows.jsonl", orient="records", lines=True)
    PrivateHoldout(PrivateNB(1.0, schema=SCHEMA), random_state=0).fit(rows).model_.save(folder / "m.json")
    PrivateAdditiveClassifier(1.0, schema=SCHEMA).fit(rows).model_.save(folder / "add.json")
    return folder


@pytest.fixture
def call(place, monkeypatch, capfdbinary):
    def command(*words, stdin=b""):
        monkeypatch.chdir(place)
        monkeypatch.setattr(sys, "argv", ["discreet", *words])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run(partial(app, list(words), standalone_mode=False))
        sys.stdout.flush()
        found = capfdbinary.readouterr()
        return code, found.out.decode(), found.err.decode()

    return command


def test_columns_are_kept_beside_the_answers_of_every_form(call, place):
    model, rows = load(place / "m.json"), pd.read_csv(place / "rows.csv")
    sets = model.predict_set(rows)
    code, out, _ = call("predict", "m.json", "rows.csv", "--keep", "id,ward", "--coverage", "0.9", "--proba")
    found = pd.read_csv(io.StringIO(out))
    assert code == 0 and list(found)[:2] == ["id", "ward"] and found.ward.tolist() == rows.ward.tolist()
    assert found.prediction.tolist() == model.predict(rows).tolist()
    assert [one.split(" | ") for one in found["set"]] == [np.array(["no", "yes"])[one].tolist() for one in sets]
    piped = (place / "rows.jsonl").read_bytes()
    for words, stdin in ((["rows.jsonl"], b""), (["-"], piped), (["rows.csv", "--out", "-"], b"")):
        code, out, _ = call(
            "predict", "m.json", *words, "--keep", "id", "--coverage", "0.9", "--format", "jsonl", stdin=stdin
        )
        lines = [json.loads(line) for line in out.splitlines()]
        assert code == 0 and [int(line["id"]) for line in lines] == rows.id.tolist()
        assert [line["prediction"] for line in lines] == found.prediction.tolist()
        assert [line["set"] for line in lines] == [one.split(" | ") for one in found["set"]]
    assert call("predict", "m.json", "rows.csv", "--out", "p.jsonl")[0] == 0
    assert len((place / "p.jsonl").read_text().splitlines()) == 3000


def test_a_threshold_moves_answers_of_one_class(call, place):
    chance = load(place / "m.json").predict_proba(place / "rows.csv")[:, 1]
    for words, level in ((["--threshold", "0.2"], 0.2), (["--threshold", "yes=0.8"], 0.8)):
        _, out, _ = call("predict", "m.json", "rows.csv", *words)
        found = pd.read_csv(io.StringIO(out))
        assert ((found.prediction == "yes") == (chance >= level)).all()
        np.testing.assert_allclose(found.probability, np.where(chance >= level, chance, 1 - chance), rtol=1e-9)


def test_what_cannot_be_asked_is_one_sentence(call):
    for words, said in (
        (["m.json", "rows.csv", "--keep", "nothing"], "no column 'nothing'"),
        (["m.json", "rows.csv", "--threshold", "maybe=0.3"], "no class 'maybe'"),
        (["m.json", "rows.csv", "--threshold", "2"], "from 0 to 1"),
        (["m.json", "rows.csv", "--coverage", "1.5"], "coverage"),
        (["add.json", "rows.csv", "--coverage", "0.9"], "--holdout"),
        (["m.json", "-"], "is empty"),
    ):
        code, out, err = call("predict", *words)
        assert code == 2 and not out and said in err and "Traceback" not in err and len(err.splitlines()) == 1


def test_json_lines_are_read_row_by_row(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(
        '{"a": "u", "x": 1, "y": "no"}\n\n{"y": "yes", "x": "2.5", "a": "v", "more": [1]}\n{"a": "u", "y": "no"}\n'
    )
    (rows,) = read_rows(path, SCHEMA)
    assert rows.label.encode().tolist() == [0, 1, 0]
    np.testing.assert_array_equal(rows.columns[1].values.astype(float), [1, 2.5, np.nan])
    for bad in ('{"a": "u"', "[1, 2]", "no row"):
        path.write_text('{"a": "u", "x": 1, "y": "no"}\n' + bad + "\n")
        with pytest.raises(DataError, match="line 2 is no JSON object"):
            list(read_rows(path, SCHEMA))
        (rows,) = read_rows(path, SCHEMA, unexpected="absorb")
        assert rows.size == 1
    (tmp_path / "doc.json").write_text('[{"a": 1}]')
    with pytest.raises(DataError, match="JSON lines"):
        list(read_rows(tmp_path / "doc.json", SCHEMA))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_synthetic_rows_come_with_the_certificate(call, place, suffix):
    name = f"drawn.{suffix}"
    code, out, err = call(
        "synthesize", "m.json", "--rows", "2000", "--seed", "1", "--out", name, "--measure", "rows.csv", "--json"
    )
    told = json.loads(out)
    assert code == 0 and told["rows"] == 2000 and told["measured"]["auc"] > 0.8 and "NOT private" in err
    assert (
        json.loads((place / f"{name}.certificate.json").read_text())
        == json.loads((place / "m.json").read_text())["certificate"]
    )
    drawn = pd.read_csv(place / name) if suffix == "csv" else pd.read_parquet(place / name)
    again = load(place / "m.json").sample(2000, 1)
    assert drawn.y.tolist() == again["y"] and drawn.a.tolist() == again["a"] and drawn.x.isna().any()
    code, out, err = call("synthesize", "add.json", "--out", name)
    assert code == 2 and "by 'discreet fit --generative'" in err and len(err.splitlines()) == 1
    assert "--design" in err
    words = ["fit", "rows.csv", "--schema", "g.toml", "--out", "g.json", "--no-account", "--seed", "1"]
    SCHEMA.save(place / "g.toml")
    assert call(*words, "--generative")[0] == 0 and call("synthesize", "g.json", "--out", name)[0] == 0
    code, out, err = call(*words, "--generative", "--model", "tree")
    assert code == 2 and "no rows can be drawn from a" in err and len(err.splitlines()) == 1


def test_designed_rows_say_what_they_are(call, place):
    """On the terminal, and in the file beside them; a boosted model of them knows the target."""
    words = ["synthesize", "add.json", "--design", "--rows", "2000", "--seed", "1", "--out", "even.csv"]
    code, out, err = call(*words, "--measure", "rows.csv", "--json")
    told = json.loads(out)
    assert code == 0 and told["designed"] and told["measured"]["auc"] > 0.8 and "count nothing in them" in err
    beside = json.loads((place / "even.csv.certificate.json").read_text())
    assert beside.pop("rows") == LIMITS
    assert beside == json.loads((place / "add.json").read_text())["certificate"]
    rows, again = pd.read_csv(place / "even.csv"), load(place / "add.json").design(2000, 1)
    assert rows.y.tolist() == again["y"] and rows.a.tolist() == again["a"]
    assert 0.4 < (rows.a == "u").mean() < 0.6
    code, out, err = call(*words)
    assert code == 0 and "wrote 2000 designed rows" in out and LIMITS in err.replace("\n", " ")
    lines = (place / "rows.csv").read_text().splitlines()
    (place / "gaps.csv").write_text("\n".join([*lines[:501], lines[1].rpartition(",")[0] + ","]) + "\n")
    code, out, err = call(*words, "--measure", "gaps.csv")
    assert code == 0 and "on 500 rows of gaps.csv" in " ".join(out.split())  # a row without a class is left out
    SCHEMA.save(place / "d.toml")
    for kind, said in (("additive", "synthesize d.json --design"), ("nb", "synthesize d.json --out"), ("svm", None)):
        fit = ["fit", "rows.csv", "--schema", "d.toml", "--out", "d.json", "--model", kind, "--no-account"]
        code, out, err = call(*fit)
        assert code == 0 and (said in out.replace("\n", " ") if said else "synthesize" not in out)
    code, out, err = call("synthesize", "d.json", "--design", "--out", "even.csv")
    assert code == 2 and "scores, not probabilities" in err and len(err.splitlines()) == 1


def test_a_tree_of_pairs_draws_pairs_as_they_were_released():
    """Shares of 40,000 draws within 0.02: eight standard errors."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 8000)
    a = (rng.random(8000) < 0.3 + 0.4 * y).astype(int)
    b = np.where(rng.random(8000) < 0.9, a, 1 - a)
    c = np.where(rng.random(8000) < 0.8, b, 2)
    schema = Schema([Categorical("a", [0, 1]), Categorical("b", [0, 1]), Categorical("c", [0, 1, 2])], "y", [0, 1])
    model = PrivateTAN(4.0, schema=schema, random_state=0).fit(np.stack([a, b, c], axis=1), y).model_
    drawn = {name: np.array(values) for name, values in model.sample(40_000, 5).items()}
    whole = np.stack([one.ravel() for one in np.meshgrid([0, 1], [0, 1], [0, 1, 2], indexing="ij")], axis=1)
    scores = np.exp(model.predict_joint_log_proba(whole))
    shares = scores / scores.sum()
    for (i, j, k), line in zip(whole.tolist(), shares, strict=True):
        for label in (0, 1):
            same = (drawn["a"] == i) & (drawn["b"] == j) & (drawn["c"] == k) & (drawn["y"] == label)
            assert abs(same.mean() - line[label]) < 0.02
    assert model.sample(10, 5) == model.sample(10, 5) != model.sample(10, 6)
    with pytest.raises(ModelError, match="whole number"):
        model.sample(1.5)


def test_no_line_of_json_stops_a_lenient_reading(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.sources.jsonlines.LONGEST", 64)
    path, row = tmp_path / "r.jsonl", '{"a": "u", "y": "no"}\n'
    for more, sizes in (('{"x": 1, "a": "v", "y": "yes"}', 102), ('{"a": "' + "u" * 200 + '"}', 101), ("u" * 200, 101)):
        path.write_text(row * 101 + more + "\n")
        assert sum(rows.size for rows in read_rows(path, SCHEMA, unexpected="absorb")) == sizes
    path.write_text("no row\n")
    assert sum(rows.size for rows in read_rows(path, SCHEMA, unexpected="absorb")) == 0
    path.write_text("u" * 200 + "\n" + row)
    with pytest.raises(DataError, match="too long to be a row"):
        list(read_rows(path, SCHEMA))


def test_a_json_key_that_no_line_has_is_told_by_who_has_paid_or_releases_nothing(call, place):
    """A mistyped column is no column of missing values; under "absorb" nothing is said of what rows hold."""
    rows = [{"a": "uv"[i % 2], "z": i, "y": ["no", "yes"][i % 2]} for i in range(150)]
    (place / "typo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    SCHEMA.save(place / "s.toml")
    account = ("--account", "typo.account")
    assert call("account", "create", "typo.account", "--epsilon", "9")[0] == 0
    code, out, err = call("fit", "typo.jsonl", "--schema", "s.toml", "--epsilon", "1", "--out", "t.json", *account)
    assert code == 2 and "no line of typo.jsonl has 'x': `discreet check`" in err and "Traceback" not in err
    assert not (place / "t.json").exists() and Account.open(place / "typo.account").spent == 1
    words = ["fit", "typo.jsonl", "--schema", "s.toml", "--epsilon", "1", "--out", "t.json", "--no-account"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code, out, err = call(*words, "--unexpected", "absorb", "--model", "naive-bayes")
    assert code == 0 and "no line" not in out + err
    code, out, err = call("predict", "m.json", "typo.jsonl")
    assert code == 2 and "no line of typo.jsonl has 'x'" in err
    code, out, err = call("check", "typo.jsonl", "--schema", "s.toml")
    assert code == 1 and "a column that the data do not have" in " ".join(out.split())
    late = [*rows, {"a": "u", "x": 1, "y": "no"}]
    (place / "typo.jsonl").write_text("".join(json.dumps(row) + "\n" for row in late))
    assert call("predict", "m.json", "typo.jsonl")[0] == 0


def test_whatever_json_holds_is_written_and_shown(call, place):
    odd, big = "odd.jsonl", '{"a": "u", "x": 1, "y": "no", "k": 2e70, "t": "\\ud800", "n": {"z": NaN}, "f": NaN}\n'
    big = big.replace("2e70", str(2**70))
    (place / odd).write_text(big + big.replace('"u"', '"\\ud801"').replace("no", "yes"))
    (place / "lines.jsonl").write_text(big)
    code, out, _ = call("predict", "m.json", "lines.jsonl", "--keep", "k,t,n,f")
    found = pd.read_csv(io.StringIO(out), dtype=str)
    assert code == 0 and found.iloc[0, :3].tolist() == [str(2**70), "?", '{"z": null}']
    code, out, _ = call("predict", "m.json", "lines.jsonl", "--keep", "f,n", "--format", "jsonl")
    (line,) = [json.loads(one, parse_constant=pytest.fail) for one in out.splitlines()]
    assert code == 0 and line["f"] is None and line["n"] == {"z": None}
    SCHEMA.save(place / "s.json")
    for words in (["check", odd], ["schema", odd, "-t", "y"], ["check", odd, "--schema", "s.json", "--json"]):
        code, out, err = call(*words)
        assert code in (0, 1) and out and "Traceback" not in err, words


def test_standard_input_is_read_once(call):
    rows = b"a,x,y\nu,1,no\nv,2,yes\n"
    code, out, _ = call("schema", "-", "--target", "y", stdin=rows)
    assert code == 0 and 'classes = ["no", "yes"]' in out
    code, out, _ = call("explain", "m.json", "-", stdin=rows)
    assert code == 0 and "at the start" in out


def test_the_table_and_the_picture_of_an_explanation(call, place):
    _, out, _ = call("explain", "m.json")
    assert not [one for one in out.split() if len(one.rstrip(":").replace(".", "")) > 5 and one[0].isdigit()]
    code, _, err = call("explain", "m.json", "--plot", "x.xyz")
    assert code == 2 and err.startswith("error: x.xyz: Format 'xyz'")
