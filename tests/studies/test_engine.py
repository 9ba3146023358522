"""The engine: seeds by name, the same table in any order and after any death, errors that stay with their task."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

from discreet_studies import StudyError, engine
from discreet_studies.results import Results
from discreet_studies.tasks import Task, seed_of
from tests.studies import work

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = """
import sys
from pathlib import Path
from discreet_studies import engine
from tests.studies import work
if __name__ == "__main__":
    engine.run(work.tasks(), work.draw, Path(sys.argv[1]), workers=2)
"""


def table(out):
    """The results without the columns that hold times."""
    whole = parquet.read_table(out / engine.RESULTS)
    return whole.drop([name for name in whole.column_names if name.endswith("seconds")])


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole")
    engine.run(work.tasks(), work.draw, out, workers=2)
    return table(out)


def test_a_seed_is_of_the_name_and_not_of_the_place(tmp_path):
    tasks = work.tasks(12)
    first = engine.run(tasks, work.draw, tmp_path / "a", workers=0)
    second = engine.run(tasks[::-1][:5], work.draw, tmp_path / "b", workers=0)
    values = {row["key"]: (row["value"], row["task_seed"]) for row in first.rows}
    assert all(values[row["key"]] == (row["value"], row["task_seed"]) for row in second.rows)
    assert len({value for value, _ in values.values()}) == 12


def test_the_root_seed_and_every_part_of_the_key_count():
    task = Task("e", "d", "m", 1.0)
    others = [
        Task("f", "d", "m", 1.0), Task("e", "c", "m", 1.0), Task("e", "d", "n", 1.0), Task("e", "d", "m", 2.0),
        Task("e", "d", "m", 1.0, delta="1/n"), Task("e", "d", "m", 1.0, repeat=1), Task("e", "d", "m", 1.0, fold=1),
        Task("e", "d", "m", 1.0, options=(("n", 1),)),
    ]  # fmt: skip
    assert len({one.key for one in (task, *others)}) == 9
    assert Task("e", "d", "m", 1.0, alone=True, cost=9).key == task.key
    assert seed_of(0, task.key) != seed_of(1, task.key)


def test_one_process_and_several_give_the_same_table(tmp_path, uninterrupted):
    engine.run(work.tasks(), work.draw, tmp_path, workers=0)
    assert table(tmp_path).equals(uninterrupted)


def test_a_killed_run_goes_on_and_ends_in_the_same_table(tmp_path, uninterrupted):
    script, out = tmp_path / "go.py", tmp_path / "out"
    script.write_text(SCRIPT)
    command = [sys.executable, str(script), str(out)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    victim = subprocess.Popen(command, env=environment)
    until = time.monotonic() + 300
    while not list(out.glob("parts/[!.]*.parquet")) and time.monotonic() < until:
        time.sleep(0.01)
    workers = _children(victim.pid)
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()
    done = len(list(out.glob("parts/[!.]*.parquet")))
    assert 0 < done < len(work.tasks()) / engine.CHUNK
    assert not (out / engine.RESULTS).exists()
    until = time.monotonic() + 120
    while any(_alive(pid) for pid in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert workers
    assert not any(_alive(pid) for pid in workers)  # nobody waits for tasks that no one will send
    (out / "parts" / ".half-written.parquet").write_bytes(b"PAR1")
    subprocess.run(command, env=environment, check=True)
    assert table(out).equals(uninterrupted)


def _children(pid):
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(entry.parent.name))
    return found


def _alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_only_what_is_missing_is_run(tmp_path):
    engine.run(work.tasks(8), work.draw, tmp_path, workers=0)
    seen = []

    def watched(task, seed):
        seen.append(task.repeat)
        return work.draw(task, seed)

    engine.run(work.tasks(10), watched, tmp_path, workers=0)
    assert seen == [8, 9]


def test_an_error_is_recorded_reported_and_tried_again(tmp_path):
    states = []
    results = engine.run(work.tasks(6), work.faulty, tmp_path, workers=0, report=states.append)
    assert [row["repeat"] for row in results.failures] == [3]
    assert results.failures[0]["error"] == "ValueError: three is out of order"
    assert len(results.where(experiment="try")) == 5
    assert (states[-1].done, states[-1].failed, states[-1].total) == (6, 1, 6)
    mended = engine.run(work.tasks(6), work.draw, tmp_path, workers=0)
    assert not mended.failures
    assert Results.load(tmp_path / engine.RESULTS).rows[0]["value"] == 1.0  # what was done stays


def test_a_process_that_dies_takes_only_its_own_task_with_it(tmp_path):
    results = engine.run(work.tasks(10), work.deadly, tmp_path, workers=1)
    assert [row["repeat"] for row in results.failures] == [3]
    assert "died" in results.failures[0]["error"]


def test_workers_have_one_thread_and_the_environment_is_put_back(tmp_path):
    before = dict(os.environ)
    results = engine.run([Task("t", "d", "m", 1.0, alone=True)], work.threads, tmp_path, workers=1)
    assert (results.rows[0]["threads"], results.rows[0]["blas"]) == (1, "1")
    assert dict(os.environ) == before


def test_progress_knows_the_time_left(tmp_path):
    states = []
    engine.run(work.tasks(24), work.draw, tmp_path, workers=0, report=states.append)
    assert states[0].left is None
    assert states[1].left > 0
    assert states[-1].left == pytest.approx(0)
    assert [state.share for state in states] == pytest.approx([0, 1 / 3, 2 / 3, 1])


def test_a_directory_holds_one_run(tmp_path):
    engine.run(work.tasks(2), work.draw, tmp_path, workers=0, identity={"fast": True})
    with pytest.raises(StudyError, match="holds another run"):
        engine.run(work.tasks(2), work.draw, tmp_path, workers=0, identity={"fast": False})
    with pytest.raises(StudyError, match="holds another run"):
        engine.run(work.tasks(2), work.draw, tmp_path, workers=0, identity={"fast": True}, seed=1)


def test_two_tasks_of_one_name_are_refused(tmp_path):
    with pytest.raises(StudyError, match="same key"):
        engine.run(work.tasks(1) * 2, work.draw, tmp_path, workers=0)


def test_a_damaged_part_is_named(tmp_path):
    engine.run(work.tasks(2), work.draw, tmp_path, workers=0)
    part = next(tmp_path.glob("parts/*.parquet"))
    part.write_bytes(b"PAR1 and nothing more")
    with pytest.raises(StudyError, match="damaged"):
        engine.run(work.tasks(2), work.draw, tmp_path, workers=0)
