import re
import shutil
import tomllib
from pathlib import Path

import pytest

from discreet.errors import DiscreetError
from discreet.explorer import Work
from discreet.privacy import Account, Budget


def wanted(schema, **more):
    return {"schema": schema, "epsilon": 1.0, "delta": 0.0, "rows": 600, "model": "auto", "measure": True, **more}


@pytest.fixture
def work(tmp_path, rows):
    (tmp_path / "in").mkdir()
    return Work(tmp_path / "out", Path(shutil.copy(rows, tmp_path / "in")))


def test_an_unchanged_draft_is_fitted_as_what_it_is(work):
    drafted = work.draft("ill")["schema"]
    work.declare(drafted)
    work.fit(wanted(drafted, total=3))
    assert work.model.schema.inferred and any("read off" in one for one in work.model.certificate.assumptions)


def test_the_whole_way(work, tmp_path):
    told = work.columns()
    assert told["columns"] == ["age", "smoker", "ill"] and told["target"] == "ill"
    drafted = work.draft("ill")["schema"]
    assert work.check(drafted)["inferred"]
    with pytest.raises(DiscreetError, match="go through the schema first"):
        work.fit(wanted(drafted, total=3))
    assert not (tmp_path / "out").exists()
    assert work.declare(drafted)["inferred"]  # nobody changed a word of it
    declared = work.declare(drafted.replace("upper = ", "upper = 1", 1))["schema"]
    assert not work.check(declared)["inferred"] and tomllib.loads(declared)["inferred"] is False
    plan = work.plan(wanted(declared))
    assert plan["chosen"]["model"] and plan["odds"] and plan["tables"]
    done = work.fit(wanted(declared, total=2.5))
    assert done["budget"] == "ε = 1" and len(done["shapes"]) == 2 and done["figures"]
    account = Account.open(work.rows.with_name("patients.account"))  # where other commands look for it
    assert len(account.entries()) == 1 and account.composition.budget == Budget(2.5)
    documents = work.dossier({"product.name": "Ward model", "data.people": "600", "anonymity.claim": "false"})
    assert {"dossier.html", "label.html", "ward_model.yaml"} <= set(documents["files"])
    assert "product.name" not in documents["missing"] and "anonymity.means" not in documents["missing"]
    work.fit(wanted(declared, model="naive-bayes", measure=False))
    with pytest.raises(DiscreetError):  # 2.5 pay for two of these, not for three
        work.fit(wanted(declared))
    assert len(account.entries()) == 2


def test_what_is_shown_is_what_is_done(work, monkeypatch, tmp_path):
    """The command and the Python on the page make the same kind of release as the button."""
    declared = work.declare(work.draft("ill")["schema"].replace("upper = ", "upper = 1", 1))["schema"]
    (tmp_path / "schema.toml").write_text(declared)
    monkeypatch.chdir(tmp_path)
    shutil.copy(work.rows, "patients.csv")
    for model, delta in (("auto", 0.0), ("naive-bayes", 1e-6), ("tree", 0.0), ("additive", 0.0)):
        told = work.plan(wanted(declared, model=model, delta=delta))
        space = {}
        exec(told["python"], space)
        by_button = Work(tmp_path / "button", work.rows)
        by_button.fit(wanted(declared, model=model, delta=delta, total=1.0))
        work.rows.with_name("patients.account").unlink()
        assert type(space["fitted"].model_) is type(by_button.model)
        assert space["fitted"].certificate_.epsilon == by_button.model.certificate.epsilon == "1"
        assert re.match(r"discreet fit \S+/patients\.csv --schema schema\.toml --epsilon 1 ", told["command"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "= 3"}, "no TOML"), ({"schema": ""}, "schema"), ({"epsilon": 0}, "epsilon"), ({"rows": 0}, "rows"),
        ({"model": "none"}, "none"),
    ],
)  # fmt: skip
def test_slips_are_one_sentence(work, change, words):
    declared = work.declare(work.draft("ill")["schema"])["schema"]
    with pytest.raises(DiscreetError, match=words):
        work.plan({**wanted(declared), **change})


def test_nothing_is_spent_without_rows_or_a_total(tmp_path, rows):
    work = Work(tmp_path / "out")
    with pytest.raises(DiscreetError, match="no rows yet"):
        work.draft("ill")
    work = Work(tmp_path / "out", rows)
    declared = work.declare(work.draft("ill")["schema"])["schema"]
    with pytest.raises(DiscreetError, match="in all"):
        work.fit(wanted(declared))
    with pytest.raises(DiscreetError, match="no model yet"):
        work.dossier({})
    assert not (tmp_path / "out").exists()
