"""Pages that are read from top to bottom: what they tell a reader to type is typed, in order, in an empty folder."""

import re
import shlex
from functools import partial

import matplotlib
import pytest

from discreet.cli import app
from discreet.cli.running import run
from tests.pages import DOCS

FOLLOWED = (
    *(f"tutorials/{name}.md" for name in ("central", "local", "federated", "gossip")),
    *(f"how-to/{name}.md" for name in ("install", "messy-data", "from-diffprivlib")),
    *(f"explanation/{name}.md" for name in ("adjacency", "composition", "k-norm", "leaks")),
)
ELSEWHERE = {"pip", "make", "."}  # what sets the package up


@pytest.mark.parametrize("page", FOLLOWED)
def test_followed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    matplotlib.use("Agg")
    space = {"__name__": "page"}
    blocks = re.findall(r"^```(python|console)\n(.*?)^```", (DOCS / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    for kind, block in blocks:
        if kind == "python":
            exec(compile(block, page, "exec", dont_inherit=True), space)
            continue
        for line in block.splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True)
            if words[0] in ELSEWHERE or words[1:] == ["--version"]:
                continue
            assert words[0] == "discreet"
            code = run(partial(app, words[1:], standalone_mode=False))
            assert code == (1 if "--controls" in words and words[1] == "audit" else 0) or not code, line


def test_every_new_page_is_followed():
    """Pages of these folders that have blocks are run here."""
    for folder in ("tutorials", "how-to", "explanation"):
        for path in (DOCS / folder).glob("*.md"):
            assert f"{folder}/{path.name}" in FOLLOWED, path
