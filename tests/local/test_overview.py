"""How a collection is going, as its collector's own addresses say it: counts, rates, health and expected errors."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign
from discreet.local.oracles import ORACLES
from discreet.local.overview import Overview, expected_error, read_metrics
from tests.local.people import SCHEMA

PLAN = Campaign(SCHEMA, 2.0)
METRICS = """# HELP discreet_collector_reports_total Reports.
discreet_collector_reports_total{fate="accepted"%s} %d
discreet_collector_reports_total{fate="malformed"%s} 3
discreet_collector_bytes_waiting%s 17
"""


@pytest.fixture
def answers(monkeypatch):
    """What a collector at some address says."""
    said = {"healthz": (200, b"{}"), "campaign.json": (200, json.dumps(PLAN.to_dict()).encode())}
    monkeypatch.setattr(Overview, "_get", lambda self, path: said.get(path, (404, b"{}")))
    return said


def test_two_looks_make_a_rate(answers, monkeypatch):
    times = iter([100.0, 110.0])
    monkeypatch.setattr("discreet.local.overview.time.monotonic", lambda: next(times))
    overview = Overview("http://h:1/")
    answers["metrics"] = 200, (METRICS % ("", 1000, "", "")).encode()
    first = overview.look()
    (one,) = first.plain["campaigns"]
    assert one["accepted"] == 1000 and one["rejected"] == 3 and one["reports_per_second"] is None
    assert one["epsilon"] == 2.0 and first.plain["bytes_waiting"] == 17 and first.plain["healthy"]
    answers["metrics"] = 200, (METRICS % ("", 1250, "", "")).encode()
    answers["healthz"] = 503, b"{}"
    second = overview.look()
    assert second.plain["campaigns"][0]["reports_per_second"] == 25.0
    assert not second.plain["healthy"] and "cannot be kept" in second.line and "25.0" in second.rows[0]


def test_several_campaigns_are_told_apart(answers):
    answers["b/campaign.json"] = answers["campaign.json"]
    text = METRICS % (',campaign="b"', 9, ',campaign="b"', '{campaign="b"}')
    answers["metrics"] = 200, (text + 'discreet_collector_guard_total{did="dropped"} 1\n').encode()
    found = Overview("http://h:1").look().plain["campaigns"]
    assert [(one["campaign"], one["accepted"], one["epsilon"]) for one in found] == [("b", 9, 2.0)]


def test_what_is_no_collector(answers):
    with pytest.raises(DiscreetError, match="no collector"):
        Overview("http://h:1").look()
    answers["metrics"] = 200, (METRICS % ("", 5, "", "")).encode()
    answers["campaign.json"] = 200, b"[]"
    assert Overview("http://h:1").look().plain["campaigns"][0]["expected_error"] is None
    assert read_metrics("nonsense\n") == {}


def test_the_expected_error_is_that_of_the_estimates():
    """Shares of nobody, estimated over and over: their spread is the one told (within 8 of its own standard errors)."""
    oracle = ORACLES["oue"](4, 1.0)
    plan = Campaign(SCHEMA, 1.0, oracle="oue")
    asked, repeats = 2000, 400
    rng = np.random.default_rng(7)
    found = [oracle.estimate(oracle.support(oracle.perturb(np.zeros(asked, int), rng=rng)), asked)[3] / asked
             for _ in range(repeats)]  # fmt: skip
    told = expected_error(plan, asked * len(plan.questions) // plan.reports)
    assert math.isclose(np.std(found), told, rel_tol=8 / math.sqrt(2 * repeats))
    assert expected_error(plan, 0) is None
    assert expected_error(plan, 40_000) == pytest.approx(expected_error(plan, 10_000) / 2)
