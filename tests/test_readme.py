"""What the README tells a reader to type sets something up or is of this package; its links and extras are there."""

import re
import shlex
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *(ROOT / "docs" / "tutorials").glob("*.md")]
LINES = re.findall(r"^\$ (.*)$", "".join(page.read_text(encoding="utf-8") for page in PAGES), re.MULTILINE)
COMMANDS = [shlex.split(line, comments=True) for line in LINES]


def test_commands_are_of_this_package_or_set_it_up():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert len(COMMANDS) > 20
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
