"""Notebooks are those of the tutorials, and run from top to bottom."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.docs.notebooks import FOLDER, NAMES, notebook


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_not_stale(name):
    stored = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    assert stored == notebook(name), "write them again: python -m tests.docs.notebooks --write"


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_run(name, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    book = nbformat.read(FOLDER / f"{name}.ipynb", as_version=4)
    client = NotebookClient(book, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.execute()
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            assert "error:" not in output.get("text", ""), cell.source
