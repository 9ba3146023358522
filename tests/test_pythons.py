"""Each supported Python: the two ways to install of README.md and how-to/install.md, the demo, the tests of rooms.

`make pythons` runs it for every interpreter that it finds on the path or among pyenv's; it takes many minutes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks

ROOMS = ("bayes", "mechanisms", "sources", "privacy", "linear", "trees", "cli", "models", "estimators")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSIONS = [re.search(r"3\.\d+$", one)[0] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]


def interpreter(version: str) -> str | None:
    """A Python of this version, if the machine has one that starts."""
    places = [sys.executable, shutil.which(f"python{version}")]
    places += sorted(map(str, (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python")), reverse=True)
    for place in filter(None, places):
        asked = [place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(asked, capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return place
    return None


def installs(page: str) -> list[str]:
    """The lines of a page's block on installing."""
    (block,) = (one for one in blocks(page) if one.first.startswith("$ pip install"))
    return [line.removeprefix("$ ").split("#")[0].strip() for line in block.text.splitlines()]


def test_both_pages_say_the_same():
    assert installs("README.md") == installs("how-to/install.md")
    assert VERSIONS == ["3.11", "3.12", "3.13"]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_what_the_readme_says_works_there(version, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    place = tmp_path / "env"
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    clean |= {"PATH": f"{place / 'bin'}{os.pathsep}{clean['PATH']}", "XDG_STATE_HOME": str(tmp_path / "state")}

    def run(line: str, folder: Path = tmp_path) -> str:
        done = subprocess.run(line, shell=True, cwd=folder, env=clean, capture_output=True, text=True)
        assert done.returncode == 0, f"{line}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    run(f"'{python}' -m venv '{place}'")
    base, everything = installs("README.md")
    run(base, ROOT)
    assert "site-packages" in run("python -c 'import discreet; print(discreet.__file__)'")
    run("discreet demo")
    run(everything, ROOT)
    run("pip install -c constraints.txt '.[dev]'", ROOT)
    run("pip check")
    rooms = " ".join(f"tests/{room}" for room in ROOMS)
    told = run(f"python -m pytest -n 0 -p no:cacheprovider -o addopts='' -m 'not slow' -q {rooms}", ROOT)
    print(version, told.strip().splitlines()[-1])
