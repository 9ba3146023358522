"""The page on participants' pages is followed literally: its commands start servers, and its devices report to them."""

from __future__ import annotations

import json
import re
import shlex

import pytest

from discreet import Categorical, Numeric, Schema
from discreet.local.campaign import Campaign
from tests import pages
from tests.local.servers import Server

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

PAGE = "participants.md"
SCHEMA = Schema(
    [Categorical("sex", ["f", "m"], other="another"), Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100])],
    target="smokes",
    classes=["no", "yes"],
)
COMMANDS = re.findall(r"^\$ (.*)$", "".join(pages.blocks(PAGE, "console")), re.MULTILINE)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    SCHEMA.save("schema.toml")
    Campaign(SCHEMA, 1.0).save("campaign.json")
    (tmp_path / "about.txt").write_text("The town asks.")
    (tmp_path / "person.json").write_text(json.dumps({"sex": "m", "age": 50, "smokes": "yes"}))
    (block,) = pages.blocks(PAGE, "toml")
    (tmp_path / "campaigns.toml").write_text(block)
    return tmp_path


def words_of(command: str, start: str) -> tuple[str, ...]:
    assert command.startswith(start)
    return tuple(shlex.split(command.removeprefix(start)))


def test_one_command_is_a_survey_and_devices_report_to_it(place, discreet):
    first, _, *sends = COMMANDS
    with Server(place, what=words_of(first, "discreet local serve ")) as server:
        assert 'id="answers"' in server.get("/", accept="text/html")[2]
        for number, command in enumerate(sends):
            words = [
                {"http://127.0.0.1:8000": server.address, "FINGERPRINT": Campaign(SCHEMA, 1.0).pin}.get(one, one)
                for one in words_of(command, "discreet ")
            ]
            done = discreet(*words, "--memory", place / f"m{number}", cwd=place)
            assert done.returncode == 0, done.stderr
        (code,) = pages.blocks(PAGE, "python")
        space = pages.run([code.replace("http://127.0.0.1:8000", server.address)], PAGE)
        assert space["said"]["accepted"] == 1
        assert json.loads(server.get("/status")[2])["accepted"] == len(sends) + 1 == 3


def test_several_campaigns(place):
    with Server(place, what=words_of(COMMANDS[1], "discreet local serve ")) as server:
        listed = json.loads(server.get("/")[2])["campaigns"]
        assert [one["path"] for one in listed] == ["smoking/", "smoking-again/"]
        assert json.loads(server.get("/status")[2])["title"] == "Smoking in town"
        code, errors = server.end(15)
    assert code == 0 and "smoking.db of smoking holds 0 reports" in errors


def test_the_picture_is_there():
    assert (pages.DOCS / "figures" / "participants-page.png").read_bytes().startswith(b"\x89PNG")
