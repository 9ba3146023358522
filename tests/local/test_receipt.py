"""What a report says in words: right for every mechanism, the same on the page and in Python; how often it is true."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from discreet import Categorical, Numeric, Schema
from discreet.errors import DataError
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import ORACLES
from discreet.local.participants import Page
from discreet.local.picture import facts, of_hundred, percent, picture, rows
from discreet.local.receipt import receipt
from tests.local.people import OTHER, SCHEMA

NODE = shutil.which("node")
ROW = {"colour": "red", "age": 34, "dose": 0.5, "ill": "yes"}
WIDE = Schema([Categorical("town", [f"town {i}" for i in range(30)])], target="ill", classes=["no", "yes", "maybe"])


def reports(campaign: Campaign, count: int) -> list[bytes]:
    return [LocalClient(campaign, memory=None).report(ROW) for _ in range(count)]


@pytest.mark.parametrize("oracle", ["auto", *ORACLES])
@pytest.mark.parametrize("schema", [SCHEMA, WIDE], ids=["small", "wide"])
def test_the_answers_that_are_named_are_those_that_are_counted(oracle, schema):
    campaign = Campaign(schema, 2.0, oracle=oracle)
    known = {one.input.label(schema): one for one in campaign.questions}
    for frame in reports(campaign, 6):
        told = receipt(campaign, frame)
        (part,) = told.parts
        asked = known[part.about]
        assert part.mechanism == asked.mechanism.name and told.epsilon == 2.0
        assert told.hex == frame.hex() and told.id == frame[15:31].hex()
        payload = frame[-4 - asked.mechanism.width : -4]
        support = asked.mechanism.support(asked.mechanism.decode(np.frombuffer(payload, np.uint8)[None])[0])
        if oracle == "she":
            assert part.words == f"the noisy numbers {', '.join(map(str, support.tolist()))}"
            continue
        spoken = np.flatnonzero(support > 0)
        cells = 1 if asked.input.feature is None else asked.input.feature.cells
        names = [schema.classes[value // cells] for value in spoken[:12]]
        assert [text.rsplit(": ", 1)[1].strip("”") for text in part.words.split("; ")[: len(names)]] == names
        assert (f"these {len(spoken)} of {asked.mechanism.d}" in part.words) == (len(spoken) > 1)
        assert ("none of" in part.words) == (len(spoken) == 0) and ("more" in part.words) == (len(spoken) > 12)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_page_says_the_same():
    plans = [Campaign(schema, 1.5, oracle=oracle, reports=2) for oracle in ORACLES for schema in (SCHEMA, WIDE)]
    plans += [Campaign(SCHEMA, 1.5, numeric=numeric, reports=2) for numeric in NUMBERS]
    cases = [(plan, frame) for plan in plans for frame in reports(plan, 5)]
    assert {part.mechanism for plan, frame in cases for part in receipt(plan, frame).parts} >= {*ORACLES}
    asked = [
        {"config": Page(plan).config, "campaign": plan.to_dict(), "report": receipt(plan, frame).base64}
        for plan, frame in cases
    ]
    done = subprocess.run(
        [str(NODE), str(Path(__file__).with_name("receipts.mjs"))], input=json.dumps(asked), capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    wanted = [receipt(plan, frame).to_dict() for plan, frame in cases]
    for one in wanted:
        del one["hex"], one["base64"]
    assert json.loads(done.stdout) == json.loads(json.dumps(wanted))


def test_what_is_no_report_of_the_campaign_is_refused():
    campaign = Campaign(SCHEMA, 1.0, oracle="grr")
    for frame in (
        b"",
        b"noise",
        reports(Campaign(OTHER, 1.0), 1)[0],
        reports(Campaign(SCHEMA, 1.0, oracle="oue"), 1)[0],
    ):
        with pytest.raises(DataError):
            receipt(campaign, frame)


@pytest.mark.parametrize("name", ORACLES)
def test_how_often_a_report_speaks_for_an_answer_by_its_law(name):
    for oracle in ORACLES[name].listed():
        if oracle.d > 4:
            continue
        own, other = Fraction(0), Fraction(0)
        for value in range(oracle.d):
            for report, chance in oracle.law(value).items():
                said = oracle.says(np.array(report, oracle.dtype).reshape(1, *oracle.shape))[0] > 0
                own += chance * bool(said[value])
                other += chance * (int(said.sum()) - bool(said[value]))
        found = float(own / oracle.d), float(other / (oracle.d * (oracle.d - 1)))
        assert oracle.speaks() == pytest.approx(found, abs=1e-9), oracle


def test_the_picture_shows_the_oracle_that_is_used():
    for oracle in ("grr", "oue", "hadamard", "she"):
        campaign = Campaign(SCHEMA, 1.0, oracle=oracle)
        own, other = campaign.questions[0].mechanism.speaks()
        drawn = picture(campaign)
        assert drawn.count('class="full"') == round(100 * own) + round(100 * other)
        assert drawn.count("<circle") == 200 and f"{round(100 * own)} send" in drawn
        assert rows(campaign)[0].drawn == 1 / 4 and len(rows(campaign)) == 4
    numbers = rows(Campaign(SCHEMA, 1.0, numeric="laplace"))[-1]
    assert numbers.own is None and numbers.noise is not None and numbers.noise > 1


def test_numbers_for_people_never_promise_certainty():
    assert [of_hundred(share) for share in (0.0001, 0.5, 0.9999)] == [1, 50, 99]
    assert [percent(share) for share in (0.001, 0.5, 0.9999999)] == ["0.1\u00a0%", "50\u00a0%", "99.9999\u00a0%"]
    told = facts(Campaign(SCHEMA, 1.0))
    assert told == {"epsilon": "1", "ratio": "2.72", "sure": "73.2\u00a0%"}
    for epsilon in (0.001, 0.3, 1.5, 4, 10, 20, 30):
        told, ratio = facts(Campaign(SCHEMA, epsilon, oracle="grr")), math.exp(epsilon)
        assert ratio <= float(told["ratio"].replace(",", "")) <= 1.01 * ratio  # a bound is rounded up
        assert ratio / (1 + ratio) <= float(told["sure"].rstrip("\u00a0%")) / 100 <= 1.002 * ratio / (1 + ratio)


def test_a_number_that_may_be_missing_has_its_cell_named():
    schema = Schema([Numeric("w", 0, 1, bins=2, missing="bin")], target="ill", classes=["no", "yes"])
    campaign = Campaign(schema, 20.0, oracle="grr")
    words = {
        p.words
        for _ in range(40)
        for p in receipt(campaign, LocalClient(campaign, memory=None).report({"ill": "no"})).parts
    }
    assert any("missing" in one for one in words)
