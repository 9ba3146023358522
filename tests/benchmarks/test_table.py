"""The speed table: what is measured, and that the published tables are those of the published figures."""

import json
import re
from types import SimpleNamespace

import pytest
from benchmarks.peers import timed
from benchmarks.peers.environments import ROOT

from benchmarks import table


def test_a_small_table_is_measured_kept_and_told(tmp_path, monkeypatch):
    monkeypatch.setattr(table.environments, "interpreter", _ours_alone)
    monkeypatch.setattr(table.subprocess, "run", _here)
    told = table.run(rows=500, repeats=1, datasets=["beside"], folder=tmp_path)
    found = json.loads((tmp_path / "speed.json").read_text())
    assert set(found) == {"beside", "machine", "minutes"}
    failed = [cell["failed"] for cell in found["beside"] if "failed" in cell]
    assert failed == ["no environment"]  # of the peer
    ours = [cell for cell in found["beside"] if "read" in cell]
    assert len(ours) == 4
    assert all(cell["fit"] > 0 and cell["predict"] > 0 and cell["first"] >= cell["fit"] for cell in ours)
    assert {one["unit"] for one in told if one["measured"] is not None} >= {"times one read of the bytes"}
    text = table.full(found)
    assert "scikit-learn, CategoricalNB + GaussianNB" in text and "no environment" not in table.short(found)


def _here(command, **_):
    """What a process of its own would print."""
    script, spec = command[1:]
    assert script == timed.__file__
    return SimpleNamespace(returncode=0, stdout=json.dumps(timed.measure(json.loads(spec))))


def test_a_case_runs_in_a_process_of_its_own_and_says_why_it_fails():
    found = table._case(1, rows=300, codes=2, numbers=0, predicted=100)
    assert found["fit"] > 0 and found["peak"] > 0 and found["predict"] > 0
    assert "no model" in table._case(1, rows=30, kind="nonsense")["failed"]


def _ours_alone(family, folder):
    import sys

    if family == "diffprivlib":
        raise table.environments.BuildError("no environment")
    return sys.executable


@pytest.mark.parametrize(("file", "make"), [("README.md", table.short), ("docs/speed.md", table.full)])
def test_published_tables_are_those_of_the_published_figures(file, make):
    found = json.loads((ROOT / "docs" / "speed.json").read_text(encoding="utf-8"))
    begin, end = table.MARKS
    block = re.search(f"{begin}(.*?){end}", (ROOT / file).read_text(encoding="utf-8"), re.DOTALL)
    assert block and block[1].strip() == make(found).strip()
    assert set(table.PARTS) <= set(found), "measure all parts: python -m benchmarks table --readme"
