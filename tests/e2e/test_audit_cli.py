"""discreet audit: names, scripts, controls, figures, JSON and exit codes, through the command.

The honest cases run at far fewer runs than by default and at a confidence of 1 − 1e-8, so the chance of a
false alarm in a whole run is below 1e-6; the controls exceed their claims by so much that they are flagged at that
confidence too.
"""

import json
import re
import sys
from dataclasses import replace

import pytest

from discreet.audit import list_cases
from discreet.audit.registry import house
from discreet.cli import main

pytestmark = pytest.mark.usefixtures("one_tree")

SURE = ("--confidence", "0.99999999")
SCRIPT = """
import numpy as np
from discreet.audit import Pair

def honest(data, *, rng):
    return sum(data) + rng.geometric(1 - np.exp(-1)) - rng.geometric(1 - np.exp(-1))

def liar(data, *, rng):
    return sum(data) + rng.integers(0, 2)

pairs = [Pair([1], [1, 1], "one more")]
"""


def test_list_names_every_case(discreet):
    listed = json.loads(discreet("audit", "--list", "--json").stdout)
    names = {case["name"] for case in listed}
    assert {"discrete-laplace", "naive-bayes-fit", "control-short-noise"} <= names
    assert "control-short-noise" in discreet("audit", "--list").stdout


def test_every_room_that_draws_noise_declares_cases():
    rooms = {case.name.split("-")[0] for case in list_cases(control=False)}
    assert {"discrete", "naive"} <= rooms


def test_one_name_as_json_and_figure(discreet, tmp_path):
    words = ("--samples", "20000", "--json", "--figure", "f.png", *SURE)
    result = discreet("audit", "discrete-laplace-simulated", *words, cwd=tmp_path)
    found = json.loads(result.stdout)
    assert result.returncode == 0 and found["verdict"] == "consistent"
    assert 0.5 < found["lower_bound"] <= 1 and found["epsilon"] == 1 and found["pair"] and found["event"]
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.slow  # each case alone: tests/audit/test_every_case.py and the tests of the rooms
def test_everything_registered_is_consistent(script):
    result = script("audit", "--all", "--samples", "1000", "--json", *SURE)
    found = json.loads(result.stdout)
    assert result.returncode == 0, [one for one in found if one["verdict"] != "consistent"]
    assert len(found) == len(list_cases(control=False))


@pytest.mark.slow  # each control alone: the tests of the rooms
def test_every_control_is_flagged(script):
    result = script("audit", "--controls", "--json", *SURE)
    found = json.loads(result.stdout)
    assert result.returncode == 0, [one["name"] for one in found if one["verdict"] == "consistent"]
    assert len(found) == len(list_cases(control=True))


@pytest.fixture
def few(monkeypatch, capsys):
    """Run the command in this process, where it knows but four cases."""

    def run(*arguments, **changed):
        known = [replace(house().case(name), **changed) for name in CHEAP]
        monkeypatch.setattr(
            "discreet.audit.list_cases", lambda control=None: [c for c in known if control in (None, c.control)]
        )
        monkeypatch.setattr(sys, "argv", ["discreet", "audit", *arguments, *SURE])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, *capsys.readouterr()

    return run


CHEAP = ("control-class-by-class", "control-short-noise", "discrete-gaussian-simulated", "discrete-laplace-simulated")


@pytest.mark.parametrize("option", ["--all", "--controls"])
def test_all_of_a_kind_are_audited(few, option):
    code, out, _ = few(option, "--samples", "20000", "--json")
    found = json.loads(out)
    assert code == 0 and {one["verdict"] for one in found} == {"violated" if option == "--controls" else "consistent"}
    assert [one["name"] for one in found] == [name for name in CHEAP if ("control" in name) == (option == "--controls")]


def test_one_control_is_to_be_flagged(few):
    code, out, _ = few("control-short-noise", "--controls", "--samples", "20000", "--json")
    assert code == 0 and json.loads(out)["verdict"] == "violated"
    code, _, err = few("control-short-noise", "--controls", "--samples", "400")
    assert code == 1 and "escaped" in err
    assert few("control-short-noise", "--samples", "20000")[0] == 1  # a claim like any other, unless it is a control


def test_controls_that_escape_fail_the_command(few):
    code, out, err = few("--controls", "--samples", "400")
    assert code == 1 and "these controls escaped" in err and "control-short-noise" in err
    assert "control-short-noise" in out and "discrete-laplace" not in out


def test_refuted_claims_fail_the_command(few):
    code, out, err = few("--all", "--samples", "20000", control=False)
    assert code == 1 and "refuted: control-class-by-class, control-short-noise\n" in err
    assert "discrete-laplace-simulated" in out


def test_a_script_of_ones_own(discreet, tmp_path):
    (tmp_path / "own.py").write_text(SCRIPT)
    honest = discreet("audit", "own.py:honest", "--epsilon", "1", "--samples", "8000", *SURE, cwd=tmp_path)
    assert honest.returncode == 0 and "consistent" in honest.stdout
    liar = discreet("audit", "own.py:liar", "--epsilon", "1", "--samples", "8000", *SURE, cwd=tmp_path)
    assert liar.returncode == 1 and "violated" in liar.stdout and "refuted" in liar.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say what to audit"),
        (("--all", "--controls"), "say what to audit"),
        (("zebra",), "No audit case"),
        (("absent.py:fit",), "no script"),
        (("--all", "--figure", "x.png"), "one audit"),
        (("--all", "--checkpoint", "x.json"), "one audit"),
        (("discrete-laplace", "--delta", "0.5"), "delta of their own"),
        (("--controls", "--epsilon", "2"), "claim of their own"),
        (("discrete-laplace", "--controls"), "discrete-laplace is no control"),
        (("own.py:fit", "--controls"), "is no control"),
        (("discrete-laplace", "--epsilon", "nan"), "positive"),
    ],
)
def test_mistakes_are_one_sentence(discreet, arguments, words):
    result = discreet("audit", *arguments)
    assert result.returncode == 2 and re.search(words, result.stderr) and "Traceback" not in result.stderr
