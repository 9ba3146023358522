"""discreet local: from a table to reports to a model, by the commands alone."""

from __future__ import annotations

import json
import re

import pandas as pd
import pytest

from discreet import Schema
from discreet.bayes.model import NaiveBayesModel
from discreet.cli import app
from discreet.cli.running import run
from discreet.local.campaign import Campaign
from discreet.local.collector import Collector
from discreet.local.estimate import model_of
from tests.local.people import OTHER, SCHEMA, report_file, table

pytestmark = pytest.mark.usefixtures("one_tree")


def ok(done):
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def job(tmp_path_factory, discreet):
    """A directory with a campaign, reports and a model, made by the commands."""
    folder = tmp_path_factory.mktemp("local")
    table(3000).to_csv(folder / "people.csv", index=False)
    SCHEMA.save(folder / "s.toml")
    OTHER.save(folder / "other.toml")
    plan = ok(discreet("local", "campaign", "-s", "s.toml", "--epsilon", "3", "--out", "c.json", cwd=folder)).stdout
    (folder / "plan.txt").write_text(plan)
    ok(discreet("local", "perturb", "people.csv", "--campaign", "c.json", "--out", "r.bin", cwd=folder))
    done = ok(discreet("local", "collect", "r.bin", "-s", "s.toml", "--out", "m.json", "--store", "s.db", cwd=folder))
    (folder / "collect.txt").write_text(done.stdout)
    return folder


def test_the_model_is_the_estimators_from_the_same_sums(job):
    collector = Collector(SCHEMA)
    assert collector.read(job / "r.bin").accepted == 3000
    twin = model_of(SCHEMA, collector.tallies())
    assert json.loads((job / "m.json").read_text()) == json.loads(json.dumps(twin.to_dict()))
    assert "accepted 3000 reports; rejected 0" in (job / "collect.txt").read_text()


def test_predict_and_inspect(job, discreet):
    ok(discreet("predict", "m.json", "people.csv", "--out", "p.csv", cwd=job))
    said = pd.read_csv(job / "p.csv")["prediction"]
    assert (said == pd.read_csv(job / "people.csv")["ill"]).mean() > 0.75
    shown = ok(discreet("inspect", "m.json", cwd=job)).stdout
    assert "epsilon = 3" in shown and "each person who sent a report" in shown


def test_the_campaign_is_shown_and_written(job, discreet):
    shown = (job / "plan.txt").read_text()
    assert "colour" in shown and "reports about 1 of 4 inputs" in shown
    assert Campaign.load(job / "c.json") == Campaign(SCHEMA, 3.0)
    listed = json.loads(ok(discreet("local", "campaign", "-s", "s.toml", "--json", cwd=job)).stdout)
    assert listed["epsilon"] == 1 and [one["about"] for one in listed["questions"]] == ["ill", "colour", "age", "dose"]


def test_a_store_resumes_and_tells_its_model(job, discreet):
    words = ("local", "collect", "r.bin", "-s", "s.toml", "--out", "again.json", "--store", "s.db", "--json")
    found = json.loads(ok(discreet(*words, cwd=job)).stdout)
    assert (found["accepted"], found["replayed"], found["total"]) == (0, 3000, 3000)
    shown = json.loads(ok(discreet("local", "model", "--store", "s.db", "--out", "s.json", "--json", cwd=job)).stdout)
    assert (
        shown["accepted"] == 3000
        and "3000 reports since" in ok(discreet("local", "model", "--store", "s.db", "--out", "s.json", cwd=job)).stdout
    )
    assert (job / "m.json").read_text() == (job / "again.json").read_text() == (job / "s.json").read_text()


def test_stores_are_merged_with_files(job, discreet):
    words = ("local", "collect", "s.db", "r.bin", "-s", "s.toml", "--out", "merged.json", "--json")
    found = json.loads(ok(discreet(*words, cwd=job)).stdout)
    assert found["accepted"] == 3000 and found["replayed"] == 3000
    assert (job / "m.json").read_text() == (job / "merged.json").read_text()


def test_damage_is_counted(job, discreet):
    raw = bytearray((job / "r.bin").read_bytes())
    raw[20] ^= 1
    garbage = bytes([raw[-1] ^ 1]) + b"arbage"  # were its first byte the one that is cut off, nothing would be damaged
    (job / "bad.bin").write_bytes(bytes(raw[:-1]) + garbage + report_file(2, schema=OTHER))
    done = ok(discreet("local", "collect", "bad.bin", "-s", "s.toml", "--out", "bad.json", cwd=job))
    assert "accepted 2998 reports; rejected 4 (2 malformed, 2 foreign, 0 unexpected, 0 replayed)" in done.stdout


def test_one_report_per_person(job, discreet):
    people = table(10)
    people["who"] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    people.to_csv(job / "ids.csv", index=False)
    Schema(SCHEMA.features, target="ill", classes=["no", "yes"], id="who").save(job / "ids.toml")
    done = discreet("local", "perturb", "ids.csv", "-s", "ids.toml", "--out", "ids.bin", cwd=job)
    assert done.returncode == 2 and "who" in done.stderr and not (job / "ids.bin").exists()
    people["who"] = range(10)
    people.to_csv(job / "ids.csv", index=False)
    ok(discreet("local", "perturb", "ids.csv", "-s", "ids.toml", "--out", "ids.bin", cwd=job))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("perturb", "people.csv", "--out", "x.bin"), "a schema is needed"),
        (("perturb", "people.csv", "-s", "s.toml", "--epsilon", "0", "--out", "x.bin"), "epsilon"),
        (
            ("perturb", "people.csv", "-s", "s.toml", "--oracle", "zebra", "--out", "x.bin"),
            "no oracle .* local perturb --help",
        ),
        (("perturb", "people.csv", "--campaign", "c.json", "--epsilon", "2", "--out", "x.bin"), "give no settings"),
        (("perturb", "people.csv", "--campaign", "c.json", "-s", "other.toml", "--out", "x.bin"), "not the schema"),
        (("perturb", "absent.csv", "-s", "s.toml", "--out", "x.bin"), "absent.csv"),
        (("collect", "absent.bin", "-s", "s.toml", "--out", "x.json"), "no file absent.bin"),
        (("collect", "people.csv", "-s", "s.toml", "--out", "x.json"), r"no report can be used: rejected 1 \(1 malf"),
        (("collect", "r.bin", "-s", "other.toml", "--out", "x.json"), "3000 foreign"),
        (("collect", "r.bin", "-s", "s.toml", "--epsilon", "1", "--out", "x.json"), "3000 unexpected"),
        (("collect", "r.bin", "-s", "other.toml", "--store", "s.db", "--out", "x.json"), "another schema"),
        (("collect", "r.bin", "-s", "s.toml", "--store", "people.csv", "--out", "x.json"), "no store of reports"),
        (("model", "--store", "absent.db", "--out", "x.json"), "there is no store"),
        (("campaign", "-s", "s.toml", "--reports", "9"), "4 inputs"),
        (("campaign", "-s", "s.toml", "--numeric", "zebra"), "to report numbers"),
        (("serve", "--campaign", "c.json", "--store", "people.csv", "--port", "0"), "no store of reports"),
        (("serve", "--campaign", "c.json", "--store", "x.db", "--tls-key", "k.pem"), "both a certificate"),
        (("serve", "--campaign", "c.json", "--store", "x.db", "--host", "256.0.0.1"), "cannot listen"),
    ],
)
def test_mistakes_are_one_sentence(job, monkeypatch, capsys, arguments, words):
    """In this process: what differs from a process of its own is only the time it takes to begin."""
    monkeypatch.chdir(job)
    monkeypatch.setattr("sys.argv", ["discreet", "local", *arguments])
    code, said = run(app), capsys.readouterr().err
    assert code == 2 and said.count("\n") == 1 and re.search(words, said), said
    assert not (job / "x.bin").exists() and not (job / "x.json").exists()


def test_a_mistake_in_a_process_of_its_own(job, discreet):
    done = discreet("local", "collect", "people.csv", "-s", "s.toml", "--out", "x.json", cwd=job)
    assert done.returncode == 2 and done.stderr.startswith("error: no report can be used") and not done.stdout


def test_a_model_file_of_reports_is_a_model_like_any_other(job):
    model = NaiveBayesModel.load(job / "m.json")
    assert model.schema == SCHEMA and model.certificate.epsilon_value == 3


def test_help_names_the_commands(discreet):
    shown = ok(discreet("local", "--help")).stdout
    assert all(name in shown for name in ("perturb", "collect", "campaign", "serve", "model"))
