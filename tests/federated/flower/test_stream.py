"""Streams of a federation: one charge at each node, noise drawn once and kept, files lost, copied and shared."""

from __future__ import annotations

import json
import shutil
import stat
from dataclasses import replace

import pytest

from discreet import Account, Budget, BudgetError
from discreet.bayes.model import NaiveBayesModel
from discreet.errors import DiscreetError
from discreet.federated import Aggregate, Settings, Update
from discreet.federated.flower.answers import AnsweringSite, FederatedTerms, SecureTerms
from discreet.federated.flower.client import make_app
from discreet.federated.flower.progress import noise_of
from discreet.federated.flower.records import Request
from discreet.federated.flower.server import conduct
from discreet.federated.flower.steps import KeptStep
from discreet.federated.flower.task import RoundTask
from discreet.nodes import running
from discreet.nodes.refusals import NodeRefusal, NodeRefusedError
from discreet.nodes.running import data_of
from tests.cli.test_config import run
from tests.federated.flower.local import LocalGrid

pytestmark = pytest.mark.usefixtures("one_engine")
STEPS = 4


def asked(schema, step, name="s", steps=STEPS):
    return Request(name, schema.hash, Settings(), (steps, step))


def terms_of(place, schema, name, **more):
    return FederatedTerms(
        name, f"{place}/{name}-{{step:02}}.parquet", schema, Budget(1), Budget(1), place / f"{name}.ledger",
        **{"stream": STEPS, **more},
    )  # fmt: skip


def days(place, frame, name, first, count=3):
    for step in range(1, count + 1):
        rows = frame.iloc[first + 50 * step : first + 50 * (step + 1)]
        rows.to_parquet(place / f"{name}-{step:02}.parquet")


@pytest.fixture
def sites(tmp_path, schema, frame):
    """Nodes a, b and c with rows of three days; each pays for one stream of epsilon = 1."""
    schema.save(tmp_path / "schema.json")
    opened = {}
    for i, name in enumerate("abc"):
        days(tmp_path, frame, name, 200 * i)
        opened[name] = AnsweringSite(terms_of(tmp_path, schema, name))
    yield opened
    for one in opened.values():
        one.close()


def again(site):
    """The same node after a restart."""
    site.close()
    return AnsweringSite(site.terms)


def refused(site, request):
    with pytest.raises(NodeRefusedError) as caught:
        site.update(request)
    return caught.value.reason


def test_steps_cost_once_and_answer_the_same_through_restarts(sites, schema):
    site = sites["a"]
    first = site.update(asked(schema, 1))
    second = site.update(asked(schema, 2))
    assert [entry.cost.epsilon for entry in site.journal.entries()] == [1]
    assert first.stream == (STEPS, 1) and second.stream == (STEPS, 2)
    assert "each of up to 4 steps" in second.certificate.covers and second.certificate.epsilon == "1"
    sites["a"] = site = again(site)
    assert site.update(asked(schema, 1)).to_bytes() == first.to_bytes()
    assert site.update(asked(schema, 2)).to_bytes() == second.to_bytes()
    assert Update.from_bytes(second.to_bytes()) == second
    third = site.update(asked(schema, 3))
    assert third.rows != second.rows and len(site.journal.entries()) == 1


def test_a_step_that_was_missed_is_taken_with_the_next(sites, schema, monkeypatch):
    """The sums at step 3 are those of all three days; without noise, exactly."""
    terms = replace(sites["b"].terms, budget=Budget(float("inf")), total=Budget(float("inf")), no_privacy=True,
                    ledger=sites["b"].terms.ledger.with_name("open.ledger"))  # fmt: skip
    site = AnsweringSite(terms)
    assert site.update(asked(schema, 3)).rows == 150
    assert site.update(asked(schema, 1)).rows == 50
    site.close()


def test_noise_is_kept_in_a_file_for_its_owner_alone(sites, schema):
    sites["a"].update(asked(schema, 2))
    (file,) = [
        path for path in (sites["a"].terms.ledger.parent / ".a.ledger.streams").iterdir() if "lock" not in path.name
    ]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_lost_or_older_file_ends_the_stream(sites, schema, tmp_path):
    site = sites["a"]
    site.update(asked(schema, 1))
    folder = tmp_path / ".a.ledger.streams"
    shutil.copytree(folder, tmp_path / "kept")
    site.update(asked(schema, 2))
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "kept", folder)  # a backup of the day before
    sites["a"] = site = again(site)
    assert refused(site, asked(schema, 2)) == NodeRefusal.SETTINGS
    shutil.rmtree(folder)
    assert refused(site, asked(schema, 2)) == NodeRefusal.SETTINGS
    assert refused(site, asked(schema, 1, "another")) == NodeRefusal.BUDGET  # a new one is a new charge


@pytest.mark.parametrize("payer", ["ledger", "account"])
def test_streams_that_nobody_pays_for_leave_no_files(sites, schema, tmp_path, payer):
    """Whoever asks under many names fills no disk."""
    site = sites["a"]
    if payer == "ledger":
        site.update(asked(schema, 1))
    else:
        site.terms = replace(site.terms, account=Account.create(tmp_path / "small.account", Budget(0.5)))
    folder = tmp_path / ".a.ledger.streams"
    before = set(folder.iterdir()) if folder.is_dir() else set()
    for name in ("x", "y"):
        assert refused(site, asked(schema, 1, name)) == NodeRefusal.BUDGET
    (tmp_path / "b-01.parquet").unlink()
    assert refused(sites["b"], asked(schema, 1)) == NodeRefusal.FAILED
    assert not folder.is_dir() or set(folder.iterdir()) == before
    assert not (tmp_path / ".b.ledger.streams").exists()


def test_an_older_file_is_noticed_after_a_crash_before_its_step_was_noted(sites, schema, monkeypatch):
    """Killed between file and ledger at step 2, which is answered after the restart: the file of step 1 is older."""
    site = sites["a"]
    site.update(asked(schema, 1))
    (file,) = (site.terms.ledger.parent / ".a.ledger.streams").glob("*.stream")
    first = file.read_bytes()

    def dies(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(running.Journal, "mark", dies)
        with pytest.raises(KeyboardInterrupt):
            site.update(asked(schema, 2))
    sites["a"] = site = again(site)
    for step in (2, 3):
        assert site.update(asked(schema, step)).stream == (STEPS, step)
    file.write_bytes(first)
    sites["a"] = site = again(site)
    assert refused(site, asked(schema, 2)) == NodeRefusal.SETTINGS


def test_a_file_that_another_ledger_paid_for_is_not_taken(sites, schema, tmp_path):
    sites["a"].update(asked(schema, 1))
    shutil.copytree(tmp_path / ".a.ledger.streams", tmp_path / ".b.ledger.streams")
    assert refused(sites["b"], asked(schema, 2)) == NodeRefusal.SETTINGS
    assert not sites["b"].journal.entries()


def test_a_crash_between_charge_and_file_or_file_and_answer(sites, schema, monkeypatch):
    """What was charged is gone on with, and what was drawn is what leaves."""
    site, whole = sites["a"], running.Stream.save

    def dies(self, *given):
        if self.step:
            raise KeyboardInterrupt
        whole(self, *given)

    monkeypatch.setattr(running.Stream, "save", dies)
    with pytest.raises(KeyboardInterrupt):
        site.update(asked(schema, 1))
    assert len(site.journal.entries()) == 1
    monkeypatch.setattr(running.Stream, "save", whole)
    kept = []

    def dies_later(journal, *given):
        kept.append(given)
        raise KeyboardInterrupt

    monkeypatch.setattr(running.Journal, "mark", dies_later)
    sites["a"] = site = again(site)
    with pytest.raises(KeyboardInterrupt):
        site.update(asked(schema, 1))
    monkeypatch.undo()
    drawn = []
    monkeypatch.setattr(running, "ExactSampler", lambda: drawn.append(1))
    sites["a"] = site = again(site)
    site.update(asked(schema, 1))
    assert kept and not drawn and len(site.journal.entries()) == 1


def test_what_is_no_step_of_this_stream_is_refused(sites, schema, tmp_path):
    site = sites["a"]
    assert refused(site, Request("s", schema.hash, Settings())) == NodeRefusal.SETTINGS  # a round by itself
    assert refused(site, asked(schema, 1, steps=5)) == NodeRefusal.SETTINGS
    assert refused(site, asked(schema, 4)) == NodeRefusal.FAILED  # its rows are not there yet
    assert site.update(asked(schema, 3)).stream == (STEPS, 3)  # those before were
    moments = replace(asked(schema, 2), settings=replace(Settings(), numeric="gaussian"))
    assert refused(site, moments) in {NodeRefusal.SETTINGS, NodeRefusal.ROUND}
    with pytest.raises(BudgetError, match=r"day-\{step\}"):
        terms_of(tmp_path, schema, "a").__class__(**{**vars(site.terms), "data": "rows.parquet"})
    for pattern in ("day-{step}*.csv", "day-[{step}].csv", "{step:02}/?.csv", "*/{step}.csv"):
        with pytest.raises(BudgetError, match="one file for each step"):
            replace(site.terms, data=pattern)
    with pytest.raises(BudgetError, match="under masks"):
        replace(site.terms, secure=SecureTerms({}, tmp_path / "no.key"))


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_the_rows_of_a_step_under_another_name_are_refused(sites, schema, tmp_path, link):
    """A link to an earlier step's file would count its rows twice; a step without rows of its own costs nothing."""
    site, third = sites["a"], tmp_path / "a-03.parquet"
    first = site.update(asked(schema, 2))
    whole = third.read_bytes()
    third.unlink()
    getattr(third, link)(tmp_path / "a-01.parquet")
    assert refused(site, asked(schema, 3)) == NodeRefusal.SETTINGS
    assert site.update(asked(schema, 2)).to_bytes() == first.to_bytes()
    third.unlink()
    third.write_bytes(whole)
    assert site.update(asked(schema, 3)).stream == (STEPS, 3)


def test_a_bad_row_of_a_later_step_fails_that_step_alone(sites, schema, tmp_path):
    """One word to the coordinator, and the stream goes on when the file is mended."""
    site, second = sites["a"], tmp_path / "a-02.parquet"
    whole = second.read_bytes()
    site.update(asked(schema, 1))
    second.write_bytes(b"no rows at all")
    assert refused(site, asked(schema, 2)) == NodeRefusal.FAILED
    second.write_bytes(whole)
    assert site.update(asked(schema, 2)).stream == (STEPS, 2) and len(site.journal.entries()) == 1


def test_an_account_pays_once_too(sites, schema, tmp_path):
    account = Account.create(tmp_path / "rows.account", Budget(1))
    site = sites["a"]
    site.terms = replace(site.terms, account=account)
    for step in (1, 2, 3):
        site.update(asked(schema, step))
    assert account.spent == 1


def task_of(place, **more):
    values = {"stream": STEPS, "nodes": 3, "wait": 60.0, "resend": 0.05, "state": str(place / "state"), **more}
    return RoundTask(str(place / "schema.json"), str(place / "model.json"), **values)


def test_a_coordinator_goes_from_step_to_step(sites, schema, tmp_path):
    grid = LocalGrid({name: make_app(site) for name, site in sites.items()})
    told = [conduct(grid, task_of(tmp_path, step=step), lambda *_: None) for step in (1, 2)]
    assert [one["step"] for one in told] == [1, 2] and told[0]["round"] == told[1]["round"]
    assert all(len(site.journal.entries()) == 1 for site in sites.values())
    certificate = NaiveBayesModel.load(tmp_path / "model.json").certificate
    assert certificate.epsilon == "1" and "the models after each of up to 4 steps" in certificate.covers
    with pytest.raises(DiscreetError, match="step 3 comes next"):
        conduct(grid, task_of(tmp_path, step=2), lambda *_: None)
    with pytest.raises(DiscreetError, match="other settings"):
        conduct(grid, task_of(tmp_path, overlap=True), lambda *_: None)


@pytest.mark.parametrize("overlap", [False, True])
def test_certificates_speak_of_all_steps(sites, schema, overlap):
    """How many rows a person may have is counted over all steps, at a node and at all of them."""
    updates = [site.update(asked(schema, 1)) for site in sites.values()]
    assert any("row(s) in the data, all steps together" in one for one in updates[0].certificate.assumptions)
    aggregate = Aggregate(schema, overlap=overlap)
    for update in updates:
        aggregate.add(update)
    among = "at any one node, all steps together" if overlap else "in the data, all steps and all nodes together"
    assert any(f"row(s) {among}" in one for one in aggregate.model(1.0).certificate.assumptions)


def test_a_coordinators_status_knows_the_step(sites, schema, tmp_path):
    """Which one comes next stands in its state: the sums of a later step are noisier."""
    grid = LocalGrid({name: make_app(site) for name, site in sites.items()})
    told = [noise_of(task_of(tmp_path, epsilon=1.0))]
    for _ in range(2):
        conduct(grid, task_of(tmp_path), lambda *_: None)
        told.append(noise_of(task_of(tmp_path, epsilon=1.0)))
    assert told == [noise_of(task_of(tmp_path, epsilon=1.0, step=step)) for step in (1, 2, 3)]
    assert told == sorted(told) and told[2] > told[0]
    KeptStep(task_of(tmp_path), schema)._keep_step(STEPS)
    assert noise_of(task_of(tmp_path, epsilon=1.0)) == noise_of(task_of(tmp_path, epsilon=1.0, step=STEPS))
    (tmp_path / "state" / "stream.json").write_text("{")
    assert noise_of(task_of(tmp_path, epsilon=1.0)) == told[0]


def test_a_node_that_misses_a_step_stays_in_with_the_steps_before(sites, schema, tmp_path):
    conduct(LocalGrid({name: make_app(site) for name, site in sites.items()}), task_of(tmp_path), lambda *_: None)
    (tmp_path / "c-02.parquet").unlink()
    grid = LocalGrid({name: make_app(site) for name, site in sites.items()})
    told = conduct(grid, task_of(tmp_path, at_least=2, wait=5.0, known=3), lambda *_: None)
    assert told["missing"] == ["c"] and "c" in told["refused"] and len(told["nodes"]) == 3
    kept = Aggregate.load(next((tmp_path / "state").glob("aggregate-*-2.json")))
    assert {name: update.stream for name, update in kept.updates.items()} == {"a": (4, 2), "b": (4, 2), "c": (4, 1)}
    release = kept.release()
    parts = [update.release(schema) for update in kept.updates.values()]
    for item in release.plan.items:  # the noise that the model is told is that of what was added up
        assert release.variance(item) == pytest.approx(sum(one.variance(item) for one in parts))


def test_a_coordinator_that_was_cut_off_asks_again_who_had_not_answered(sites, schema, tmp_path):
    """What stood in for the missing was of the step before: after a restart they are neither done nor forgotten."""
    conduct(LocalGrid({name: make_app(site) for name, site in sites.items()}), task_of(tmp_path), lambda *_: None)
    rows = (tmp_path / "c-02.parquet").read_bytes()
    for _ in range(2):
        (tmp_path / "c-02.parquet").unlink(missing_ok=True)
        grid = LocalGrid({name: make_app(site) for name, site in sites.items()})
        broken = replace(task_of(tmp_path, at_least=2, wait=5.0, known=3), out=str(tmp_path / "nowhere" / "model.json"))
        with pytest.raises(OSError):
            conduct(grid, broken, lambda *_: None)
    (tmp_path / "c-02.parquet").write_bytes(rows)
    told = conduct(grid, task_of(tmp_path, at_least=2, wait=5.0, known=3), lambda *_: None)
    assert told["step"] == 2 and told["missing"] == []
    kept = Aggregate.load(next((tmp_path / "state").glob("aggregate-*-2.json")))
    assert {name: update.stream for name, update in kept.updates.items()} == dict.fromkeys("abc", (4, 2))


def test_a_step_is_over_only_when_its_model_is_written(sites, schema, tmp_path):
    grid = LocalGrid({name: make_app(site) for name, site in sites.items()})
    broken = replace(task_of(tmp_path), out=str(tmp_path / "nowhere" / "model.json"))
    with pytest.raises(OSError):
        conduct(grid, broken, lambda *_: None)
    assert conduct(grid, task_of(tmp_path), lambda *_: None)["step"] == 1
    for _ in range(2):
        conduct(grid, task_of(tmp_path), lambda *_: None)
    for name in "abc":
        shutil.copy(tmp_path / f"{name}-03.parquet", tmp_path / f"{name}-04.parquet")
    conduct(grid, task_of(tmp_path), lambda *_: None)
    with pytest.raises(DiscreetError, match="steps are over"):
        conduct(grid, task_of(tmp_path), lambda *_: None)


def test_requests_of_steps_travel_and_strangers_words_do_not(schema):
    request = asked(schema, 3)
    assert Request.read(request.record()) == request
    for stream in ([4, 5], [0, 0], [4], "4", [4, 1.0], [True, 1], None, [10**9, 1]):
        content = request.record()
        fields = json.loads(content.config_records["request"]["json"]) | {"stream": stream}
        content.config_records["request"]["json"] = json.dumps(fields)
        with pytest.raises(NodeRefusedError):
            Request.read(content)
    assert data_of("x-{step}/{step:03}.csv", 12) == "x-12/012.csv"


def test_tasks_that_make_no_stream(tmp_path):
    for wrong in ({"secure": True, "keys": "k", "epsilon": 1.0}, {"weighting": "trimmed"}, {"stream": 0, "step": 1}):
        with pytest.raises(DiscreetError):
            task_of(tmp_path, **wrong)


def test_a_nodes_config_file_names_rows_that_come_later(tmp_path, schema, monkeypatch, capsys):
    schema.save(tmp_path / "schema.json")
    monkeypatch.chdir(tmp_path)
    lines = ['data = "day-{step}.csv"', 'schema = "schema.json"', "epsilon = 1", "stream = 5", "insecure = true",
             'name = "a"', 'coordinator = "127.0.0.1:1"', 'ledger = "a.ledger"']  # fmt: skip
    (tmp_path / "node.toml").write_text("\n".join(lines) + "\n")
    code, said = run(monkeypatch, capsys, "federate", "node", "--config", "node.toml", "--check-config")
    assert code == 0 and "the configuration is good" in said
    for step in (1, 2):
        Account.create(f"day-{step}.account", Budget(1))
        code, said = run(monkeypatch, capsys, "federate", "node", "--config", "node.toml", "--check-config")
        if step == 1:
            assert code == 0 and "this will be charged to day-1.account" in said
    assert code == 2 and "several accounts lie beside the data" in said
    flags = ("--config", "node.toml", "--check-config", "--account", "day-1.account")
    code, said = run(monkeypatch, capsys, "federate", "node", *flags)
    assert code == 0 and "day-2.account lies beside the data" in said
