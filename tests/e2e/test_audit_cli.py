"""discreet audit: names, scripts, controls, figures, JSON and exit codes, through the real command.

The honest cases run at 40 times fewer runs than by default and at a confidence of 1 − 1e-8, so the chance of a
false alarm in a whole run is below 1e-6; the controls exceed their claims by so much that they are flagged at that
confidence too.
"""

import json
import re

import pytest

from discreet.audit import list_cases

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


def test_everything_registered_is_consistent(discreet):
    result = discreet("audit", "--all", "--samples", "1000", "--json", *SURE)
    found = json.loads(result.stdout)
    assert result.returncode == 0, [one for one in found if one["verdict"] != "consistent"]
    assert len(found) == len(list_cases(control=False))


def test_every_control_is_flagged(discreet):
    result = discreet("audit", "--controls", "--json", *SURE)
    found = json.loads(result.stdout)
    assert result.returncode == 0, [one["name"] for one in found if one["verdict"] == "consistent"]
    assert len(found) >= 7


def test_controls_that_escape_fail_the_command(discreet):
    result = discreet("audit", "--controls", "--samples", "400", *SURE)
    assert result.returncode == 1 and "escaped" in result.stderr


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
        (("discrete-laplace", "--epsilon", "nan"), "positive"),
    ],
)
def test_mistakes_are_one_sentence(discreet, arguments, words):
    result = discreet("audit", *arguments)
    assert result.returncode == 2 and re.search(words, result.stderr) and "Traceback" not in result.stderr
