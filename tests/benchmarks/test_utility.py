"""The comparison: which fits it asks for, that it goes on where it stopped, and what its tables say."""

import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.peers import environments, figures, runner, worker
from benchmarks.peers.bars import EPSILONS, bars
from benchmarks.peers.former import Former
from benchmarks.peers.summary import mean_and_error, reached, summarise, verdict
from benchmarks.peers.tables import Report, block_of, figure, replace_block
from benchmarks.peers.tasks import FAMILY, Entry, Journal, Task, applies, chosen, tasks_for
from benchmarks.utility import encoded

from discreet.errors import DataError

ROOT = Path(__file__).parents[2]
ENTRY = Entry("toy", "Toy", "f00", 9000, 7200, 3, 1, 4, 2, False)
EDITIONS = dict.fromkeys(FAMILY.values(), "one")


def row(method, epsilon, seed, value, **more):
    columns = Task("toy", "f00", method, "one", epsilon, seed).columns()
    return {**columns, "accuracy": value, "auc": value, "seconds": 0.1, "error": None, "limit": 9, **more}


def test_methods_are_named_alone_or_by_library():
    assert chosen([]) == list(FAMILY)
    assert chosen(["sklearn/bayes", "nb"]) == ["nb", "sklearn/bayes"]
    assert {name.split("/")[0] for name in chosen(["diffprivlib"])} == {"diffprivlib"}
    with pytest.raises(DataError, match="no method 'magic'"):
        chosen(["magic"])


def test_methods_apply_where_they_say_something_of_their_own():
    assert not applies("dp-ebm", replace(ENTRY, classes=3))
    assert not applies("diffprivlib/forest-ordinal", replace(ENTRY, most_categories=2))
    assert not applies("sklearn/bayes-bell", replace(ENTRY, numbers=0))
    assert all(applies(method, ENTRY) for method in FAMILY)


def test_every_fit_is_asked_for_once():
    tasks = list(tasks_for("toy", ENTRY, list(FAMILY), EDITIONS, EPSILONS, 3))
    assert len(set(tasks)) == len(tasks) == 3 * (5 + 4 * (len(FAMILY) - 5))
    assert {task.epsilon for task in tasks if task.method.startswith("sklearn/")} == {math.inf}
    few = tasks_for("toy", replace(ENTRY, rows=90_000), ["nb"], EDITIONS, EPSILONS)
    assert len(list(tasks_for("toy", ENTRY, ["nb"], EDITIONS, EPSILONS))) == 2 * len(list(few)) == 40
    fixed = list(tasks_for("toy", replace(ENTRY, fixed=True), ["sklearn/bayes", "nb"], EDITIONS, EPSILONS, 3))
    assert [task.seed for task in fixed if task.method == "sklearn/bayes"] == [0]
    slow = list(tasks_for("toy", ENTRY, ["aim"], EDITIONS, (1.0,)))
    assert [task.seed for task in slow] == [0, 1, 2]


def test_the_journal_goes_on_where_it_stopped(tmp_path):
    file = tmp_path / "utility.jsonl"
    journal = Journal(file)
    journal.add(row("nb", 1.0, 0, 0.8))
    journal.add(row("nb", 1.0, 1, None, error="TimeoutError: longer than 9 s"))
    journal.add(row("nb", 1.0, 2, None, error="MemoryError: too much"))
    journal.add(row("sklearn/bayes", math.inf, 0, 0.9))
    with file.open("a") as cut:
        cut.write('{"data": "toy", "method"')
    again = Journal(file)
    tasks = [Task("toy", "f00", "nb", "one", 1.0, seed) for seed in range(4)]
    assert [again.done(task, limit=9) for task in tasks] == [True, True, False, False]
    assert [again.done(task, limit=10) for task in tasks] == [True, False, False, False]
    assert again.done(Task("toy", "f00", "sklearn/bayes", "one", math.inf, 0), 9)
    newer = replace(tasks[0], edition="two")
    assert not again.done(newer, 9) and again.known(newer) == tasks[0] and again.known(tasks[3]) == tasks[3]
    assert not again.done(replace(tasks[0], checksum="other"), 9)
    again.add(row("aim", 1.0, 0, None, error="TimeoutError: longer than 300 s", limit=300))
    assert again.done(Task("toy", "f00", "aim", "one", 1.0, 0), 900)  # its own limit is the lower one
    again.rows.popitem()
    again.add(row("nb", 1.0, 3, 0.7))
    assert len(Journal(file).rows) == 6


def test_a_cell_that_took_too_long_is_not_tried_at_other_seeds(monkeypatch):
    tried = []

    def answer(score, data, task):
        tried.append((task["epsilon"], task["seed"]))
        late = "TimeoutError: longer than 9 s" if task["epsilon"] == 1.0 else None
        return {"accuracy": None, "auc": None, "seconds": 9, "error": late}

    monkeypatch.setattr(worker, "answer", answer)
    asked = [{"method": "aim", "epsilon": e, "seed": s} for s in range(3) for e in (1.0, 4.0)]
    told = io.StringIO()
    worker.work("scikit_learn", None, io.StringIO("".join(json.dumps(task) + "\n" for task in asked)), told)
    assert tried == [(1.0, 0), (4.0, 0), (4.0, 1), (4.0, 2)]
    answers = [json.loads(line) for line in told.getvalue().splitlines()]
    assert [a["error"] is None for a in answers] == [a["epsilon"] == 4.0 for a in answers] and len(answers) == 6


def test_workers_share_out_the_seeds():
    tasks = list(tasks_for("toy", ENTRY, ["nb", "dp-ebm"], EDITIONS, (1.0,), 4))
    assert [len(batch) for batch in runner.batches(tasks, 1)] == [4, 4]
    batches = runner.batches(tasks, 2)
    assert sorted(task.seed for task in tasks) == sorted(task.seed for batch in batches for task in batch)
    assert all(len({(task.family, task.seed % 2) for task in batch}) == 1 for batch in batches)


def test_a_worker_that_dies_owes_its_tasks(tmp_path):
    tasks = [Task("toy", "f00", "nb", "one", 1.0, seed) for seed in range(2)]
    journal, told = Journal(tmp_path / "utility.jsonl"), []
    false = Path("/bin/false")
    if not false.exists():
        pytest.skip("there is no command that fails at once")
    runner.run(tasks, journal, {"toy": tmp_path}, {"discreet": false}, jobs=2, limit=5, tell=told.append)
    assert told == [1, 1] and {r["error"] for r in journal.rows.values()} == {"the worker ended early with code 1"}


def test_editions_name_versions_and_follow_the_code():
    assert environments.edition("diffprivlib") == "diffprivlib==0.6.6"
    assert environments.edition("interpret").startswith("interpret-core==")
    assert environments.edition("discreet").startswith("discreet ")
    for family in environments.BUILT:
        lines = environments.pins_of(family).read_text().splitlines()
        assert lines[0].startswith("#") and all(line.count("==") == 1 and "/" not in line for line in lines[1:])


def test_figures_and_verdicts():
    assert mean_and_error([]) == (None, None) and mean_and_error([0.5]) == (0.5, None)
    assert mean_and_error([0.4, 0.6]) == (0.5, 0.1)
    assert (figure(0.8844, 0.0012), figure(1.0), figure(None)) == (".884 ± .001", "1.000", "–")
    assert verdict(0.03, 0.01) == "ahead" and verdict(-0.03, 0.01) == "behind" and verdict(0.02, 0.01) == "level"
    assert verdict(0.1, None) == "unknown" and verdict(0.0, 0.0) == "level" and verdict(0.1, 0.0) == "ahead"


def test_bars_are_complete_and_reached_within_two_standard_errors():
    table = bars()
    assert len(table) == 48 and all("goal" in cell for cell in table.values())
    assert table["adult", 0.1] == {"goal": 0.89, "dp-ebm": 0.856, "diffprivlib": 0.647}
    assert "dp-ebm" not in table["car", 1.0] and "diffprivlib" not in table["census_kdd", 4.0]
    cell = {"data": "adult", "epsilon": 0.1, "auc": 0.886, "auc_error": 0.002}
    assert reached(cell, "auc") == (0.89, True)
    assert reached({**cell, "auc_error": 0.001}, "auc") == (0.89, False)
    assert reached({**cell, "auc": None}, "auc") == (0.89, False)
    assert reached({**cell, "data": "census_kdd", "method": "auto-delta"}, "auc") == (0.92, False)
    assert reached({**cell, "data": "unheard-of"}, "auc") is None


@pytest.fixture
def results():
    ours = [
        row("auto", e, s, 0.8 + e / 100 + s / 100, note="tan" if s else "joint") for e in (1.0, 4.0) for s in range(3)
    ]
    slow = [row("dp-ebm", 4.0, s, 0.9 + s / 100) for s in range(3)]
    bayes = [row("diffprivlib/bayes", e, s, 0.7 + s / 100) for e in (1.0, 4.0) for s in range(3)]
    forest = [row("diffprivlib/forest", 1.0, s, 0.5, auc=0.81 + (1 - s) / 50) for s in range(3)]
    plain = [row("sklearn/bayes", math.inf, s, 0.79 + s / 100) for s in range(3)]
    lost = [row("dp-ebm", 1.0, s, None, error="TimeoutError: longer than 9 s") for s in range(3)]
    loose = [row("auto-delta", 4.0, s, 0.86 + s / 100) for s in range(3)]
    top = [row("sklearn/boosting", math.inf, s, 0.94 + s / 100) for s in range(3)]
    rows = [*ours, *slow, *bayes, *forest, *plain, *lost, *loose, *top]
    return summarise(rows, {"toy": ENTRY.facts()})


def test_contests_are_held_on_the_same_splits(results):
    seen = {(c["epsilon"], c["against"]): (c["method"], c["verdict"]) for c in results["contests"]}
    assert seen[4.0, "dp-ebm"] == ("dp-ebm", "behind")
    assert seen[1.0, "diffprivlib"] == ("diffprivlib/forest", "level")  # the best on average, whatever its spread
    assert seen[4.0, "diffprivlib"] == ("diffprivlib/bayes", "ahead")
    assert seen[1.0, "bayes"] == ("sklearn/bayes", "ahead")
    assert seen[4.0, "pure"] == ("auto", "ahead")
    assert (1.0, "dp-ebm") not in seen
    few = [row(method, 1.0, s, value) for method, value in (("auto", 0.9), ("dp-ebm", 0.1)) for s in range(2)]
    assert summarise(few, {"toy": ENTRY.facts()})["contests"][0]["verdict"] == "unknown"


def test_tables_name_wins_and_losses(results):
    report = Report(results)
    short = report.short()
    assert "| Toy | .820 / – / .810 | .850 / .870 / **.910** | .950 |" in short
    assert "Against DP-EBM: ahead in 0 of 1 cells; behind in 1: Toy (4)." in short
    assert "Against diffprivlib: ahead in 1 of 2 cells; level in 1: Toy (1)." in short
    assert "without privacy in 1 of 1 data sets." in short
    assert "it goes 71 % at ε = 1, 78 % at ε = 4, on average." in short  # (.82 - .5) / (.95 - .5)
    assert "With δ = 1e-6 against itself at pure ε: ahead in 1 of 1 cells." in short
    full = report.full()
    assert full.startswith(short) and "TimeoutError: longer than 9 s" in full
    assert "| Toy | 4 | .850 ± .006 | .870 ± .006 | .910 ± .006 | .710 ± .006 | bayes | tan, joint | 3 |" in full


def test_figures_of_methods_without_fits_are_kept_from_a_former_report(results):
    new = [row("auto", e, s, 0.9 + s / 100) | {"edition": "two"} for e in (1.0, 4.0) for s in range(3)]
    old = {**results, "editions": ["discreet one", "interpret-core==0.7.8", "scikit-learn==1.0"]}
    found = summarise(new, {"toy": ENTRY.facts()}, Former(old))
    cells = {(c["method"], c["epsilon"]): c for c in found["cells"]}
    before = {(c["method"], c["epsilon"]): c for c in results["cells"]}
    assert list(cells) == list(before)  # in the same order
    assert {key for key in cells if cells[key] != before[key]} == {("auto", 1.0), ("auto", 4.0)}
    assert found["editions"] == ["discreet one", "interpret-core==0.7.8", "scikit-learn==1.0", "two"]
    assert found["kept"]["auto-delta"] == ["discreet one"] and found["kept"]["dp-ebm"] == ["interpret-core==0.7.8"]
    assert "auto" not in found["kept"]
    contests = {(c["epsilon"], c["against"]): c for c in found["contests"]}
    assert not any(contest["paired"] for contest in contests.values()) and len(contests) == len(results["contests"])
    level = contests[4.0, "dp-ebm"]  # .91 and .91, each with an error of .01 / sqrt(3)
    assert (level["difference"], level["verdict"]) == (0.0, "level") and level["error"] == pytest.approx(0.00816)
    assert contests[4.0, "pure"]["difference"] == -0.04 and contests[4.0, "pure"]["verdict"] == "behind"
    assert "Kept from the report before this one: auto-delta (discreet one); sklearn/bayes" in Report(found).full()
    assert found["kept_on"] == {}
    # What is kept twice keeps its edition, and both sides of a contest that are kept keep their verdict.
    again = summarise([row("logistic", 1.0, s, 0.9) for s in range(3)], {"toy": ENTRY.facts()}, Former(found))
    assert again["contests"] == found["contests"] and again["kept"]["auto-delta"] == ["discreet one"]
    assert summarise(new, {"toy": ENTRY.facts()}, Former.none()).get("kept") is None


def test_a_method_that_was_measured_on_some_data_sets_keeps_its_cells_on_others(results):
    sets = {"toy": ENTRY.facts(), "more": ENTRY.facts() | {"title": "More"}}
    old = {**results, "editions": ["discreet one"], "datasets": sets}
    old["cells"] = [{**cell, "data": name} for name in sets for cell in results["cells"]]
    new = [row("nb", 1.0, s, 0.9) for s in range(3)]
    more = [row("auto", 1.0, s, 0.9) | {"data": "more"} for s in range(3)]
    found = summarise([*new, *more], sets, Former(old))
    assert len(found["cells"]) == len({(c["data"], c["method"], c["epsilon"]) for c in found["cells"]})
    assert found["kept_on"]["auto"] == ["toy"] and "auto on Toy" in Report(found).full()


def test_a_kept_fit_without_noise_on_a_fixed_split_stands_for_all_seeds():
    ours = [row("auto", 1.0, s, 0.9 + s / 100) for s in range(3)]
    alone = [row("sklearn/bayes", math.inf, 0, 0.8)]
    old = summarise([*ours, *alone], {"toy": ENTRY.facts()})
    found = summarise(ours, {"toy": ENTRY.facts()}, Former(old))
    assert found["contests"] == [{**old["contests"][0], "paired": False}]
    few = summarise(ours[:2], {"toy": ENTRY.facts()}, Former(old))
    assert few["contests"][0]["verdict"] == "unknown"


def test_a_former_report_must_be_one_of_the_same_data(results, tmp_path):
    file = tmp_path / "utility.json"
    with pytest.raises(DataError, match="cannot be read"):
        Former.read(file)
    file.write_text("[]")
    with pytest.raises(DataError, match="no report"):
        Former.read(file)
    file.write_text(encoded(results))
    other = {"toy": {**ENTRY.facts(), "rows": 1}}
    with pytest.raises(DataError, match="other rows of 'toy'"):
        summarise([row("auto", 1.0, 0, 0.9)], other, Former.read(file))


def test_figures_are_small_and_the_same_again(results, tmp_path):
    report = Report(results)
    files = figures.draw(report, tmp_path / "one")
    assert [file.name for file in files] == ["toy.svg", "summary.svg"]
    for file, again in zip(files, figures.draw(report, tmp_path / "two"), strict=True):
        assert file.read_bytes() == again.read_bytes() and file.stat().st_size < 60_000
    assert "boosting, no privacy" in files[0].read_text() and "1 data sets" in files[1].read_text()


def test_blocks_are_replaced_between_their_marks():
    text = "before\n<!-- utility:begin -->\nold\n<!-- utility:end -->\nafter\n"
    new = replace_block(text, "a \\1 b")
    assert block_of(new) == "a \\1 b" and new.startswith("before\n") and new.endswith("\nafter\n")
    assert replace_block(new, "old") == text
    with pytest.raises(ValueError, match="needs one"):
        replace_block("nothing", "b")


def test_published_tables_are_what_the_published_results_say():
    text = (ROOT / "docs" / "utility.json").read_text(encoding="utf-8")
    results = json.loads(text)
    assert encoded(results) == text
    report = Report(results)
    assert block_of((ROOT / "docs" / "index.md").read_text(encoding="utf-8")) == report.short()
    assert block_of((ROOT / "docs" / "utility.md").read_text(encoding="utf-8")) == report.full()
    assert {cell["method"].split("/")[0] for cell in results["cells"]} >= {"nb", "sklearn", "diffprivlib", "dp-ebm"}
