"""The page that says how to add a study is followed literally: one new file, and one line of the register."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import discreet_studies
from tests.pages import blocks

PAGE = "how-to-add/study.md"


@pytest.mark.data
def test_the_page_adds_a_study_with_one_file_and_one_line(tmp_path, data_dir):
    (module,), (line,), (command,) = blocks(PAGE), blocks(PAGE, "text"), blocks(PAGE, "console")
    copy = tmp_path / "copy" / "discreet_studies"
    shutil.copytree(Path(discreet_studies.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "example2024.py").write_text(module, encoding="utf-8")
    register = (copy / "__init__.py").read_text(encoding="utf-8")
    assert line.count("\n") == 1 and register.count("STUDIES = {\n") == 1
    (copy / "__init__.py").write_text(register.replace("STUDIES = {\n", "STUDIES = {\n" + line), encoding="utf-8")
    words = command.removeprefix("$ discreet ").replace("DIR", str(data_dir)).split()
    path = os.pathsep.join([str(copy.parent), str(Path(discreet_studies.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-m", "discreet", *words, "--workers", "0", "--json"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["failed_tasks"] == 0 and [one["verdict"] for one in told["claims"]] == ["holds"]
    assert all((tmp_path / file).is_file() for file in told["files"])
    assert "| votes | 0." in (tmp_path / "results" / "summary.md").read_text(encoding="utf-8")
