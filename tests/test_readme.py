"""What the README and the first tutorials tell a reader to type is run here, with what the reader has installed."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "docs" / "tutorials" / name for name in ("central.md", "local.md")]
WHOLE = "\n".join([*(page.read_text(encoding="utf-8") for page in reversed(PAGES)), TEXT])
BLOCKS = re.findall(r"```(python|console)\n(.*?)```", WHOLE, re.DOTALL)
CODE = [block for kind, block in BLOCKS if kind == "python"]
COMMANDS = [
    shlex.split(line[2:], comments=True)
    for kind, block in BLOCKS
    if kind == "console"
    for line in block.splitlines()
    if line
]
OPTIONAL = {"pandas", "polars", "cryptography", "flwr", "grpc", "matplotlib", "starlette", "psycopg"}


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Where a reader of the base install has typed all of it, and what was answered."""
    place = tmp_path_factory.mktemp("reader")
    asked = [words[1:] for words in COMMANDS if words[0] == "discreet"]
    script = (
        "import json, sys\n"
        "from tests.reader import follow, hide_the_rest\n"
        "print(json.dumps(sorted(hide_the_rest())))\n"
        "follow(*json.loads(sys.argv[1]))\n"
    )
    paths = f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", paths + script, json.dumps([asked, CODE])], cwd=place, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return place, done.stdout.splitlines()


def test_the_reader_has_the_base_install_only(followed):
    assert set(json.loads(followed[1][0])) >= OPTIONAL


def test_everything_runs_in_order(followed):
    place, (*_, remaining, choice) = followed
    assert remaining == "0"  # of the ledger
    assert choice.startswith("joint: 3 feature(s) and about")
    assert {"model.json", "predictions.csv", "local.json"} <= {file.name for file in place.iterdir()}


def test_commands_are_of_this_package_or_set_it_up():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for words in COMMANDS:
        if words[0] == "make":
            assert f"\n{words[1]}:" in makefile
        else:
            assert words[0] in {"discreet", "pip", "."}, words


def test_every_extra_is_listed_and_all_has_those_of_users():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    assert listed == set(extras) - {"dev", "bench", "docs"}
    (everything,) = extras["all"]
    assert set(re.findall(r"\w+", everything)) - {"discreet"} == listed - {"all", "secure"}  # which federated has


def test_links_exist():
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / target).exists(), target
