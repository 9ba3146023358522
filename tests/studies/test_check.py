"""Check of stored results (docs/studies.md): commands that anyone can give again, the same measurements by them."""

from pathlib import Path

import pytest

from discreet_studies import STUDIES, StudyError, find_studies
from discreet_studies.check import Asked, asked_for, check, differences, missing, sample, strays
from discreet_studies.pages import RESULTS
from discreet_studies.stored import Stored, file_of, recall
from discreet_studies.study import Study
from discreet_studies.tasks import Task

ROOT = Path(__file__).parents[2]
FILES = [
    (study, fast) for name in STUDIES for study, _ in find_studies(name) for fast in (True, False)
]  # fmt: skip
LABELS = [f"{study.name}-{study.part}-{'fast' if fast else 'full'}" for study, fast in FILES]
CHEAP = 0.5  # processor seconds


def kept(study, fast):
    return recall(file_of(ROOT / RESULTS, study.name, study.part, fast=fast))


@pytest.mark.parametrize(("study", "fast"), FILES, ids=LABELS)
def test_stored_commands_name_every_stored_row(study, fast):
    assert strays(study, kept(study, fast)) == []


@pytest.mark.parametrize(("study", "fast"), FILES, ids=LABELS)
def test_a_handful_of_stored_rows_is_measured_again_to_the_last_digit(study, fast, data_dir):
    stored = kept(study, fast)
    cheap = [row for row in stored.rows if float(row.get("processor_seconds") or CHEAP) <= CHEAP]
    few = Stored(cheap or stored.rows, stored.run, stored.commands)
    again = list(sample(study, few, 1))
    assert again
    for task, before in again[:4]:
        after = study.execute(task, seed_of_run(stored, task), data_dir)
        assert differences({name: before[name] for name in before if name in after}, after) == []


def seed_of_run(stored, task):
    from discreet_studies.tasks import seed_of

    return seed_of(stored.run["seed"], task.key)


def test_commands_are_read_as_they_were_given():
    asked = Asked.of("discreet reproduce giaretta2022 --part gossip --full --only a=1 --only b=2 --repeats 3 --seed 4")
    assert asked == Asked("giaretta2022", "gossip", False, ("a=1", "b=2"), 3, 4)
    assert Asked.of("discreet reproduce all --fast --results studies/results").seed == 0
    for bad in ("python run.py", "discreet reproduce all", "discreet reproduce all --fast --quick"):
        with pytest.raises(StudyError):
            Asked.of(bad)


def planned(fast):
    return [Task("one", "made", "m", 1.0, repeat=r) for r in range(4)]


def execute(task, seed, directory):
    return {"accuracy": task.repeat / 3, "fit_seconds": 1.0}


MADE = Study("zafarani2021", data=(), tasks=planned, execute=execute, claims=(), draw=lambda *a: [],
             tables=lambda results: "", changes=())  # fmt: skip
RUN = {"study": "zafarani2021", "part": None, "fast": False, "seed": 0, "data": {}, "options": []}


def made_up(rows, command="discreet reproduce zafarani2021 --full --repeats 2 --seed 0"):
    return Stored(rows, RUN, ({"command": command, "versions": [], "processor_seconds": 1.0},))


def test_rows_that_no_command_asks_for_are_noticed_and_missing_ones_counted(tmp_path):
    rows = [{**task.columns(), "accuracy": task.repeat / 3} for task in planned(False)]
    assert strays(MADE, made_up(rows[:2])) == []
    assert [one.split()[0] for one in strays(MADE, made_up(rows[:3]))] == ["no"]
    assert strays(MADE, made_up(rows[:1])) == [] and missing(MADE, made_up(rows[:1])) == 1
    assert "of no task" in strays(MADE, made_up([*rows[:2], {**rows[0], "data": "other"}]))[0]
    with pytest.raises(StudyError, match="another run"):
        asked_for(MADE, made_up(rows, "discreet reproduce zafarani2021 --full --seed 1"))
    assert check(MADE, made_up(rows[:2]), tmp_path, 5) == (2, [])
    count, wrong = check(MADE, made_up([{**rows[0], "accuracy": 0.1}, rows[1]]), tmp_path, 5)
    assert count == 2 and len(wrong) == 1 and "accuracy: 0.1 stored" in wrong[0]


def test_times_may_differ_and_nothing_else():
    before = {"fit_seconds": 1.0, "accuracy": 1 / 3, "error": None, "private": True}
    assert differences(before, {"fit_seconds": 2.0, "accuracy": 0.33333334, "private": True}) == []
    assert len(differences(before, {"accuracy": 0.3334, "private": False})) == 2
