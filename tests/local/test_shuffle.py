"""The shuffler: what goes in and what comes out, files and devices; what campaigns and certificates state of it."""

import asyncio
import json
import math
import re
import shlex
import stat
import threading
from functools import partial

import numpy as np
import pandas as pd
import pytest
from starlette.testclient import TestClient

from discreet import Categorical, Numeric, Schema
from discreet.cli import app
from discreet.cli.common import run
from discreet.errors import BudgetError, DiscreetError
from discreet.local import Campaign, Collector, LocalClient
from discreet.local import shuffle_serve as serving
from discreet.local.amplified import central, variation_of
from discreet.local.shuffle import Shuffler, shuffler_key
from discreet.local.wire import frames as wire
from discreet.local.wire.report import schema_mark
from discreet.privacy.shuffling import Variation
from tests import pages

SCHEMA = Schema([Categorical("sex", ["f", "m"]), Numeric("age", 0, 100, bins=4)], "ill", ["no", "yes"])
CAMPAIGN = Campaign(SCHEMA, 1.0)
ROW = {"sex": "f", "age": 40, "ill": "no"}


def reports(count, campaign=CAMPAIGN):
    return [LocalClient(campaign, memory=None).report(ROW) for _ in range(count)]


def ids(raw):
    frames = wire.frames_of_buffers([raw])
    return [one.tobytes() for one in wire.identities(frames, np.arange(len(frames)))]


def payloads(raw):
    frames = wire.frames_of_buffers([raw])
    _, parts = wire.parse(frames, schema_mark(SCHEMA.hash))
    return sorted((parts.key(i), frames.raw[parts.start[i] : parts.stop[i]].tobytes()) for i in range(len(parts)))


def test_nothing_of_a_sender_comes_out():
    sent = reports(200)
    mixing = Shuffler(CAMPAIGN, 200)
    for one in sent:
        assert mixing.add(one).accepted == 1
    out = b"".join(mixing.batch())
    assert payloads(out) == payloads(b"".join(sent))  # what was said is all there
    assert not set(ids(out)) & set(ids(b"".join(sent)))
    assert len(set(ids(out))) == 200
    assert mixing.waiting == 0 and mixing.batch() is None


def test_the_order_is_drawn_anew():
    """Chance that two orders of 60 are the same, or that the first is as it came: below 1e-80."""
    sent, key = reports(60), b"k" * 32
    orders = []
    for _ in range(2):
        mixing = Shuffler(CAMPAIGN, 60, key=key)
        mixing.add(b"".join(sent))
        orders.append(mixing.batch())
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])
    unmixed = Shuffler(CAMPAIGN, 60, key=key)
    unmixed.add(b"".join(sent))
    assert orders[0] != unmixed._waiting


def test_places_are_even():
    """The first report's place over 2000 batches of four; false alarms beyond 6 standard errors: below 1e-8."""
    sent, key, places = reports(4), b"k" * 32, np.zeros(4)
    for _ in range(2000):
        mixing = Shuffler(CAMPAIGN, 4, key=key)
        mixing.add(b"".join(sent))
        first = mixing._waiting[0]
        places[mixing.batch().index(first)] += 1
    assert np.abs(places / 2000 - 0.25).max() < 6 * math.sqrt(0.25 * 0.75 / 2000)


def test_too_few_stay_where_they_are():
    mixing = Shuffler(CAMPAIGN, 5)
    mixing.add(b"".join(reports(4)))
    assert mixing.batch() is None and mixing.waiting == 4
    mixing.add(reports(1)[0])
    assert len(mixing.batch()) == 5


def test_what_is_sent_again_counts_once():
    """Here while the process lives, and at the collector by the same id where the key is the same."""
    sent, key = reports(5), b"k" * 32
    mixing = Shuffler(CAMPAIGN, 5, key=key)
    assert mixing.add(b"".join(sent)).accepted == 5
    assert mixing.add(sent[0]).replayed == 1
    out = b"".join(mixing.batch())
    assert mixing.add(sent[0]).replayed == 1  # even after its batch is out
    again = Shuffler(CAMPAIGN, 5, key=key)
    again.add(b"".join(sent))
    with Collector(CAMPAIGN) as collector:
        assert collector.add_batch(out).accepted == 5
        assert collector.add_batch(b"".join(again.batch())).replayed == 5


def test_others_do_not_fill_a_batch():
    mixing = Shuffler(Campaign(SCHEMA, 1.0, oracle="grr"), 2)
    other = Schema([Categorical("x", [1, 2])], "ill", ["no", "yes"])
    assert mixing.add(reports(1, Campaign(SCHEMA, 2.0, oracle="grr"))[0]).unexpected == 1
    assert mixing.add(LocalClient(Campaign(other, 1.0), memory=None).report({"x": 1, "ill": "no"})).foreign == 1
    assert mixing.add(b"noise" * 9).malformed == 1
    assert mixing.waiting == 0


def test_keys_are_kept_for_their_owner(tmp_path):
    path = tmp_path / "key"
    key = shuffler_key(path)
    assert len(key) == 32 and shuffler_key(path) == key and stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(b"short")
    with pytest.raises(DiscreetError, match="no key"):
        shuffler_key(path)


# ---- what is stated


def test_a_campaign_has_the_mean_variation_of_its_questions():
    grr = Campaign(SCHEMA, 1.0, oracle="grr")
    known = [float(q.mechanism.variation) for q in grr.questions]
    assert variation_of(grr).total == pytest.approx(np.mean(known))
    assert variation_of(Campaign(SCHEMA, 1.0, oracle="grr", reports=2)) == Variation.of(1)
    assert variation_of(Campaign(SCHEMA, 1.0, oracle="hadamard")).total == pytest.approx(Variation.of(1).total)


def test_colluding_devices_hide_nobody():
    told = central(CAMPAIGN, 1000, colluding=400)
    assert told.epsilon == central(CAMPAIGN, 600).epsilon > central(CAMPAIGN, 1000).epsilon
    assert "at least 600 are of devices" in told.clause
    with pytest.raises(BudgetError, match="larger batches"):
        central(CAMPAIGN, 10, colluding=10)


def test_the_certificate_states_both():
    with Collector(CAMPAIGN) as collector:
        collector.add_batch(b"".join(reports(50)))
        certificate = collector.model().certificate
    told = central(CAMPAIGN, 1000)
    both = told.stated(certificate)
    assert both.epsilon == "1" and f"{told.epsilon:.4g}" in both.accounting and both.delta == "0"
    assert any("shuffler is honest" in one for one in both.assumptions)
    with pytest.raises(BudgetError, match="another epsilon"):
        central(Campaign(SCHEMA, 2.0), 1000).stated(certificate)


# ---- by HTTP


def test_devices_report_through_it(monkeypatch):
    """A collector behind a shuffler; a failed errand is repeated; nothing of a request goes on."""
    got, failures = [], iter([True])
    done = threading.Event()

    def post(address, body):
        assert address == "http://collector:8000/reports"
        if next(failures, False):
            raise OSError("refused")
        got.append(body)
        done.set()

    monkeypatch.setattr(serving, "post", post)
    told = []
    site = serving.ShufflerSite(Shuffler(CAMPAIGN, 3), "http://collector:8000", told.append)
    site.pauses = (0.01,)
    sent = reports(3)
    with TestClient(site.app()) as client:
        assert client.get("/campaign.json").json()["epsilon"] == "1"
        assert client.post("/reports", content=b"x", headers={"content-type": "text/plain"}).status_code == 415
        for i, one in enumerate(sent):
            answer = client.post("/reports", content=one, headers={"content-type": serving.KIND, "x-who": "me"})
            assert answer.json()["accepted"] == 1
            assert i == 2 or client.get("/status").json()["waiting"] == i + 1
        assert client.get("/healthz").json() == {"ok": True}
        assert done.wait(10)
    assert payloads(got[0]) == payloads(b"".join(sent))
    assert len(told) == 1 and "batch waits" in told[0]


def test_a_real_collector_takes_what_comes_out():
    from discreet.local.serve import make_app

    mixing = Shuffler(CAMPAIGN, 3)
    mixing.add(b"".join(reports(3)))
    with TestClient(make_app(Collector(CAMPAIGN))) as client:
        for body in serving.pieces(mixing.batch()):
            found = client.post("/reports", content=body, headers={"content-type": serving.KIND})
            assert found.json()["accepted"] == 3


def test_bodies_are_cut_between_reports():
    assert serving.pieces([b"aaa", b"bb", b"c"], most=5) == [b"aaabb", b"c"]
    assert serving.pieces([b"aaaaaa", b"b"], most=5) == [b"aaaaaa", b"b"]


def test_addresses():
    assert serving.check_collector("https://c.example/") == "https://c.example/reports"
    assert serving.check_collector("http://c/x/reports") == "http://c/x/reports"
    with pytest.raises(DiscreetError, match="no address"):
        serving.check_collector("collector:8000")


# ---- the commands


def discreet(*words):
    return run(partial(app, [str(word) for word in words], standalone_mode=False))


def people(count=1200):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"sex": rng.choice(["f", "m"], count), "age": rng.integers(0, 100, count),
                         "ill": rng.choice(["no", "yes"], count)})  # fmt: skip


def test_the_page_is_followed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    SCHEMA.save("schema.toml")
    people().to_csv("people.csv", index=False)
    space = pages.run(pages.blocks("shuffling.md"), "shuffling.md", schema=SCHEMA)
    assert 0 < space["promise"].epsilon < 0.05
    for command in re.findall(r"^\$ (.*)$", "".join(pages.blocks("shuffling.md", "console")), re.MULTILINE):
        assert not discreet(*shlex.split(command)[1:]), command
    assert (
        "amplification by shuffling" in json.loads((tmp_path / "model.json").read_text())["certificate"]["accounting"]
    )
    assert capsys.readouterr().out.count("amplification by shuffling") == 3
    assert stat.S_IMODE((tmp_path / "shuffled.bin").stat().st_mode) == 0o600
    shuffle = ["local", "shuffle", "reports.bin", "--campaign", "campaign.json", "--out", "again.bin"]
    assert discreet(*shuffle, "--least", 1201) == 2
    assert "fewer than 1201" in capsys.readouterr().err and not (tmp_path / "again.bin").exists()
    assert discreet(*shuffle, "--least", 100, "--json") == 0
    assert json.loads(capsys.readouterr().out)["central"]["reports"] == 100
    assert discreet("local", "shuffle", "--campaign", "campaign.json") == 2
    assert "--to" in capsys.readouterr().err


def test_an_event_loop_is_all_it_needs():
    """The errand ends with the site, whether or not the collector was there."""

    async def visit():
        site = serving.ShufflerSite(Shuffler(CAMPAIGN, 3), "http://collector", lambda _: None)
        async with site.lifespan(None):
            pass
        return site.out.qsize()

    assert asyncio.run(visit()) == 0
