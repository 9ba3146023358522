"""Stored results: they outlive a run, are never measured again, and say how they came about."""

import json
import math

import pytest

from discreet_studies import StudyError
from discreet_studies.claims import Claim, Finding, verdict_of
from discreet_studies.figures import Line, accuracy_against_epsilon
from discreet_studies.results import Estimate
from discreet_studies.stored import LEFT_OUT, Stored, file_of, merged, recall, same_tasks, store
from discreet_studies.study import Study, reproduce, retell
from discreet_studies.tasks import Task, chosen_tasks

RUN = {"study": "zafarani2021", "part": None, "fast": True, "seed": 0, "data": {}, "options": ["dims"]}
DONE = []


def tasks(fast):
    return [
        Task("one", "made", "counted", epsilon, repeat=repeat, options=(("dims", 1 + repeat),))
        for epsilon in (1.0, math.inf)
        for repeat in range(2 if fast else 4)
    ]


def execute(task, seed, directory):
    DONE.append(task.key)
    return {"accuracy": 1 / 3 + task.repeat / 100, "split_seed": "7", "private": True}


def higher(results):
    found = {"all": Estimate.of(row["accuracy"] for row in results.where(experiment="one"))}
    return Finding(verdict_of(found["all"].above), found, str(found["all"]))


def draw(results, out):
    return accuracy_against_epsilon(out, "a", "A", [Line("a", [(1.0, results.estimate(epsilon=1.0))])])


STUDY = Study("zafarani2021", data=(), tasks=tasks, execute=execute, claims=(Claim("p", "it is above", higher),),
              draw=draw, tables=lambda results: "", changes=())  # fmt: skip


@pytest.fixture
def data(tmp_path):
    (tmp_path / "datasets.json").write_text('{"datasets": []}')
    DONE.clear()
    return tmp_path


def run(data, out, **more):
    return reproduce(
        STUDY, data, data / out, workers=0, **{"results_folder": data / "kept", "command": f"run {out}", **more}
    )


def test_what_is_stored_is_not_measured_again_and_ends_in_the_same_verdict(data):
    first = run(data, "a", only=chosen_tasks(["epsilon=1"], 3))
    assert len(DONE) == 3 and first.claims[0]["measurements"] == 3
    second = run(data, "b")
    assert len(DONE) == len(set(DONE)) == 8 and second.claims[0]["measurements"] == 8
    third = run(data, "c")
    assert len(DONE) == 8 and third.claims == second.claims
    file = file_of(data / "kept", "zafarani2021", None, fast=False)
    kept = recall(file)
    assert [one["command"] for one in kept.commands] == ["run a", "run b"]
    assert [one["tasks"] for one in kept.commands] == [3, 5]
    assert all("discreet" in one["versions"][0] and one["processor_seconds"] >= 0 for one in kept.commands)
    assert kept.run["seed"] == 0 and kept.run["options"] == ["dims"]
    assert not any(name in row for row in kept.rows for name in LEFT_OUT)
    again = retell(STUDY, data / "kept", data / "d", fast=False)
    assert len(DONE) == 8 and again.claims == second.claims
    assert json.loads((data / "d" / "claims.json").read_text()) == second.claims
    assert (data / "d" / "figures" / "a.svg").read_bytes() == (data / "c" / "figures" / "a.svg").read_bytes()


def test_a_task_of_both_kinds_of_run_is_measured_once(data):
    run(data, "a")
    fast = run(data, "b", fast=True)
    assert len(DONE) == 8 and fast.claims[0]["measurements"] == 4
    kept = recall(file_of(data / "kept", "zafarani2021", None, fast=True))
    assert len(kept.rows) == 4 and kept.commands[0]["tasks"] == 4
    run(data, "c", fast=True, seed=1, results_folder=None)
    assert len(DONE) == 12  # another seed is another task


def test_a_task_on_fewer_rows_is_not_the_one_on_all(tmp_path):
    facts = {"study": "made", "part": None, "data": {}, "seed": 0}
    whole, part = Task("one", "made", "m", 1.0), Task("one", "made", "m", 1.0, options=(("rows", 40),))
    full = Stored([{**whole.columns(), "accuracy": 0.5}], {**facts, "fast": False, "options": []}, ({"command": "c"},))
    store(file_of(tmp_path, "made", None, fast=False), full)
    asked = {**facts, "fast": True, "options": ["rows"]}
    assert same_tasks(tmp_path, asked, [whole, part]).keys() == {whole.key}


def test_another_run_is_refused_before_anything_is_measured(data):
    run(data, "a")
    before = file_of(data / "kept", "zafarani2021", None, fast=False).read_bytes()
    with pytest.raises(StudyError, match=r"another run \(seed 0, not 1\): choose another --results"):
        run(data, "b", seed=1)
    assert len(DONE) == 8 and file_of(data / "kept", "zafarani2021", None, fast=False).read_bytes() == before


def test_a_failed_task_is_tried_again_and_replaced(tmp_path):
    task = Task("one", "made", "m", 1.0, options=(("dims", 1),))
    bad = {**task.columns(), "error": "it broke"}
    store(tmp_path / "a.parquet", Stored([bad], RUN, ({"command": "c", "versions": [], "processor_seconds": 0},)))
    assert recall(tmp_path / "a.parquet").known([task]) == {}
    good = {**task.columns(), "accuracy": 0.5, "error": None}
    both = merged(tmp_path / "a.parquet", RUN, [good], {"command": "d", "versions": [], "processor_seconds": 0})
    assert both.rows == [good] and both.known([task])[task.key]["accuracy"] == 0.5


def test_what_is_no_stored_result_is_named(tmp_path):
    for text in (b"", b"PAR1"):
        (tmp_path / "a.parquet").write_bytes(text)
        with pytest.raises(StudyError, match="holds no results of a study"):
            recall(tmp_path / "a.parquet")


def test_tasks_are_chosen_by_their_columns():
    pick = chosen_tasks(["data=made", "epsilon=1", "epsilon=inf"], None)
    assert [pick(Task("one", data, "m", e)) for data, e in (("made", 1.0), ("made", math.inf), ("other", 1.0))] == [
        True, True, False]  # fmt: skip
    assert not chosen_tasks(["dims=2"], None)(Task("one", "made", "m", 1.0))
    assert chosen_tasks([], None) is None
    with pytest.raises(StudyError, match="write it as COLUMN=VALUE"):
        chosen_tasks(["data"], None)
