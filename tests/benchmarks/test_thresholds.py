"""The tuning of the automatic choice decides as the library does, and finds constants that a toy journal holds."""

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from benchmarks.peers import with_rdatasets
from benchmarks.thresholds import RULES

from benchmarks import before, decisions, thresholds
from discreet import Categorical, DataError, Numeric, Schema
from discreet.additive import kinds as additive
from discreet.auto import choose
from discreet.bayes import bins
from discreet.estimators import counts
from discreet.estimators.counts import ClassCounts
from discreet.kinds import Facts
from discreet.resolution import fine, pooled
from discreet.selection import kinds as selection


def facts_of(numbers: int, categories: int, classes: int, rows: float, epsilon: float, first: float):
    features = [Numeric(f"x{j}", 0, 1) for j in range(numbers)]
    features += [Categorical(f"c{j}", range(4)) for j in range(categories)]
    schema = Schema(features, "y", range(classes))
    shares = np.array([first, *[(1 - first) / (classes - 1)] * (classes - 1)])
    counts = ClassCounts(rows * shares, 1.0, None)
    found = dict(choose(schema, counts, Fraction(epsilon), model="naive-bayes").facts)
    return schema, found | {"numbers": numbers, "largest": float(shares.max())}


def test_every_line_decides_as_the_library_does():
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(400):
        numbers, classes = int(rng.integers(0, 20)), int(rng.integers(2, 5))
        size = float(rng.choice([60, 500, 5000, 50_000]))
        schema, facts = facts_of(
            numbers,
            int(rng.integers(1, 30)),
            classes,
            size,
            float(rng.choice([0.1, 1, 4])),
            rng.uniform(1 / classes, 0.9),
        )
        known = Facts(
            schema, facts["rows"], facts["epsilon"], int(facts["weights"]), facts["support"], facts["largest"]
        )
        picked = {what: rule.pick(facts, **rule.own()) for what, rule in RULES.items() if what != "normal noise"}
        assert (picked["selective"] == "selective") == (selection.promise(known).merit is not None)
        assert (picked["additive"] == "fitted, as it is") == (additive.single(known).merit is not None)
        uneven = counts.ClassCounts(np.array([0.9, 0.06, 0.03, 0.01])[:classes] * facts["rows"], 1.0, None)
        assert (picked["classes"] == "as it is, by size apart") == (uneven.apart < classes) or classes == 2
        half = 2 * numbers >= len(schema.features)
        looks = pooled.worth_pooled(schema, facts["rows"], facts["epsilon"])
        assert ("pooled" in picked["pooled bins"] and half) == looks == ("pooled" in picked["pooled knots"] and half)
        if numbers:
            closely = fine.worth_fine(schema, facts["rows"], facts["epsilon"])
            assert ("fine" in picked["fine tables"]) == closely
            seen.add(("fine", classes > 2, closely))
        seen |= {*picked.values(), ("pooled", looks)}
    assert {
        "selective",
        "counted",
        "fitted",
        "fitted, as it is",
        "fitted, pooled",
        *product(("fine",), (False, True), (False, True)),
    } <= seen


def test_other_edges_are_tried_where_the_library_cuts_low():
    (cut,) = decisions.standing(lambda part: part**bins.LOW).values()
    for feature in (Numeric("x", 0, 9), Numeric("x", -1, 9), Numeric("x", 0, 5, integer=True)):
        assert [cut(feature, count) for count in (3, 7)] == [bins.cut_low(feature, count) for count in (3, 7)]
    (cut,) = decisions.standing(lambda part: part / 2).values()
    assert cut(Numeric("x", 0, 8), 4).edges == (0, 1, 2, 3, 8)


def test_constants_are_chosen_without_the_table_that_judges_them():
    """Of three tables two agree on a threshold; the third pays for it when it is held out, and not when it is not."""

    def cell(name, gain, better):
        scores = {"fitted, K-norm": 0.5, "fitted, normal": 0.5 + better}
        return {"data": name, "epsilon": 1.0, "scores": scores, "facts": {"gain": gain}}

    cells = [cell("a", 1.15, 0.1), cell("b", 1.15, 0.1), cell("c", 1.15, -0.05), cell("d", 3.0, 0.2)]
    lines = {one["what"]: one["measured"] for one in thresholds._chosen("normal noise", RULES["normal noise"], cells)}
    assert lines["normal noise, never"] == pytest.approx(0.1)
    assert lines["normal noise, held out"] == pytest.approx(0.0125)
    assert next(one for what, one in lines.items() if "without c" in what) == pytest.approx(0.05)


def test_a_report_needs_the_journal_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(thresholds, "data_dir", lambda given: None)
    (told,) = thresholds.run(folder=tmp_path)
    assert "data are not here" in told["unit"]
    (told,) = thresholds.run(folder=tmp_path, report=True)
    assert "nothing was measured yet" in told["unit"]
    scores = {"fitted, K-norm": 0.5, "fitted, normal": 0.6}
    kept = {"data": "a", "epsilon": 1.0, "seed": 0, "scores": scores, "facts": {"gain": 1.2}, "asked": list(scores)}
    (tmp_path / "thresholds.jsonl").write_text(json.dumps(kept) + "\n")
    first, *others = thresholds.run(folder=tmp_path, report=True)
    assert first["measured"] == 1 and any("normal noise" in one["what"] for one in others)


def test_columns_of_real_tables_become_numbers_or_categories_with_round_bounds():
    pd = pytest.importorskip("pandas")
    assert with_rdatasets._rounded(0.4, 187.3) == [0.0, 190.0] and with_rdatasets._rounded(1977, 2002) == [1977, 2002]
    assert with_rdatasets._rounded(-1.83, 2.04) == [-1.9, 2.1]
    assert with_rdatasets._numeric(pd.Series(np.arange(40))) and not with_rdatasets._numeric(pd.Series([1, 2] * 9))
    assert not with_rdatasets._tells(pd.Series([3, 3])) and not with_rdatasets._tells(pd.Series([1, None, None, 2]))
    assert (with_rdatasets._text(3.0), with_rdatasets._text("a")) == ("3", "a")


def test_versions_are_compared_by_tasks_unless_a_file_is_asked_for(tmp_path, monkeypatch):
    (tmp_path / "src" / "discreet").mkdir(parents=True)
    monkeypatch.setattr(before, "_run", lambda *_: 1.0)
    assert len(before.run(source=tmp_path)) == len(before.TASKS)
    monkeypatch.setattr(before, "_of_a_file", lambda *given: given)
    assert before.run(source=tmp_path, file_rows=5, repeats=2) == (tmp_path, 5, 2, "zstd")
    with pytest.raises(DataError, match="--source"):
        before.run()
