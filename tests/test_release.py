"""What is released: the wheel and what is in it, the citation, the list of components, old files that load."""

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests import sbom

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_citation_has_what_the_format_requires_and_our_version():
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    fields = dict(line.split(": ", 1) for line in lines if ": " in line and not line.startswith(" "))
    assert fields["cff-version"] == "1.2.0" and fields["message"] and fields["title"] == PROJECT["name"]
    assert "authors:" in lines and lines[lines.index("authors:") + 1].strip().startswith("- name: ")
    assert fields["version"] == PROJECT["version"] and fields["license"] == PROJECT["license"]


def test_the_list_of_components_is_fresh_and_has_no_addresses():
    document = json.loads(sbom.FILE.read_text(encoding="utf-8"))
    assert [(part["name"], part["version"]) for part in document["components"]] == sbom.pins()
    assert document["metadata"]["component"]["version"] == PROJECT["version"]
    assert len(sbom.licences(document)) > 0.9 * len(document["components"])
    assert "://" not in sbom.FILE.read_text(encoding="utf-8")


def test_each_supported_python_is_named():
    named = {text.split(" :: ")[-1] for text in PROJECT["classifiers"] if text.startswith("Programming")}
    assert named == {"3.11", "3.12", "3.13"} and PROJECT["requires-python"] == ">=3.11"


def test_the_wheel_installs_in_a_fresh_environment_and_works(tmp_path):
    """Built by the pinned hatchling without a network; the dependencies are those of the test run."""
    pytest.importorskip("hatchling")
    quiet = {**os.environ, "PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    build = "import hatchling.build as b, sys; print(b.build_wheel(sys.argv[1])); b.build_sdist(sys.argv[1])"
    _call([sys.executable, "-c", build, str(tmp_path)], quiet, ROOT)
    wheel, sdist = next(tmp_path.glob("*.whl")), next(tmp_path.glob("*.tar.gz"))
    assert sdist.stat().st_size > 0
    with zipfile.ZipFile(wheel) as content:
        packed = set(content.namelist())
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True).stdout.split()
    files = tracked or [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*.json")]
    assert {name.removeprefix("src/") for name in files if (ROOT / name).exists()} <= packed
    place = tmp_path / "fresh"
    _call([sys.executable, "-m", "venv", "--without-pip", str(place)], quiet, tmp_path)
    own = next(place.glob("lib/python*/site-packages"))
    with zipfile.ZipFile(wheel) as content:
        content.extractall(own)  # what an installer does with a pure wheel
    import numpy

    (own / "dependencies.pth").write_text(str(Path(numpy.__file__).parents[1]) + "\n")
    python = str(place / "bin" / "python")
    found = _call([python, "-c", "import discreet; print(discreet.__file__)"], quiet, tmp_path)
    assert str(place) in found
    assert PROJECT["version"] in _call([python, "-m", "discreet", "--version"], quiet, tmp_path)
    _call([python, "-m", "discreet", "demo"], quiet, tmp_path)


def _call(command, environment, folder):
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
