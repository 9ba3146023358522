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
from discreet.cli.running import run
from discreet.errors import BudgetError, DiscreetError
from discreet.local import Campaign, Collector, LocalClient, letout
from discreet.local import shuffle_serve as serving
from discreet.local.amplified import above, central, variation_of
from discreet.local.letout import LetOut
from discreet.local.shuffle import Shuffler
from discreet.local.wire import frames as wire
from discreet.local.wire.report import schema_mark
from discreet.privacy.shuffling import Variation, central_epsilon
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
    assert orders[0] != list(unmixed._waiting.values())


def test_places_are_even():
    """The first report's place over 2000 batches of four; false alarms beyond 6 standard errors: below 1e-8."""
    sent, key, places = reports(4), b"k" * 32, np.zeros(4)
    for _ in range(2000):
        mixing = Shuffler(CAMPAIGN, 4, key=key)
        mixing.add(b"".join(sent))
        first = next(iter(mixing._waiting.values()))
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
    keys = []
    for _ in range(2):
        kept = LetOut(path)
        keys.append(kept.key)
        kept.close()
    assert len(keys[0]) == 32 and keys[0] == keys[1] == path.read_bytes()
    for one in tmp_path.iterdir():
        assert stat.S_IMODE(one.stat().st_mode) == 0o600
    path.write_bytes(b"short")
    with pytest.raises(DiscreetError, match="no key"):
        LetOut(path)


# ---- what is out stays out


def test_what_is_out_fills_no_batch_after_a_restart(tmp_path):
    """Four of five are sent again after a restart: the one that is new must not go out alone among them."""
    sent, key = reports(9), tmp_path / "key"
    with Shuffler.kept(CAMPAIGN, 5, key) as mixing:
        assert mixing.lasting and mixing.add(b"".join(sent[:5])).accepted == 5
        assert len(mixing.batch()) == 5
    with Shuffler.kept(CAMPAIGN, 5, key) as mixing:
        found = mixing.add(b"".join(sent[1:6]))
        assert (found.accepted, found.replayed) == (1, 4)
        assert mixing.batch() is None and mixing.waiting == 1
    # What only waited is not out, and may come again.
    with Shuffler.kept(CAMPAIGN, 4, key) as mixing:
        assert mixing.add(b"".join(sent)).accepted == 4
        assert len(mixing.batch()) == 4
    with Shuffler.kept(CAMPAIGN, 2, key) as mixing:
        assert mixing.add(b"".join(sent)).replayed == 9 and mixing.batch() is None


def test_names_are_on_disk_before_a_batch_is_out(tmp_path, monkeypatch):
    """The file is synced with all names in it before the order is even drawn; if it cannot be, nothing goes out."""
    key, events = tmp_path / "key", []
    mixing = Shuffler.kept(CAMPAIGN, 3, key)
    mixing.add(b"".join(reports(3)))
    listed, sync = letout.list_beside(key), letout.os.fsync

    def full(_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(letout.os, "fsync", full)
        with pytest.raises(DiscreetError, match="no report goes out"):
            mixing.batch()
    assert mixing.waiting == 3
    with monkeypatch.context() as patch:
        patch.setattr(letout.os, "fsync", lambda handle: (events.append(listed.read_bytes()), sync(handle)))
        out = mixing.batch()
    mixing.close()
    assert len(events) == 1 and all(name in events[0] for name in ids(b"".join(out)))
    assert len(events[0]) == letout.HEAD + 3 * 16 and mixing.waiting == 0


def test_a_name_that_was_cut_short_is_written_over(tmp_path):
    key, sent = tmp_path / "key", reports(4)
    with Shuffler.kept(CAMPAIGN, 2, key) as mixing:
        mixing.add(b"".join(sent[:2]))
        mixing.batch()
    with open(letout.list_beside(key), "ab") as file:
        file.write(b"cut")
    for low, new in ((0, 2), (2, 0)):
        with Shuffler.kept(CAMPAIGN, 2, key) as mixing:
            assert mixing.add(b"".join(sent[low:])).accepted == new
            mixing.batch()


def test_lost_and_foreign_lists_are_refused(tmp_path):
    key = tmp_path / "key"
    with Shuffler.kept(CAMPAIGN, 2, key) as mixing:
        with pytest.raises(DiscreetError, match="in use by another shuffler"):
            Shuffler.kept(CAMPAIGN, 2, key)
        mixing.add(b"".join(reports(2)))
        mixing.batch()
    listed = letout.list_beside(key)
    content, drawn = listed.read_bytes(), key.read_bytes()
    key.unlink()
    with pytest.raises(DiscreetError, match=r"key .* is lost: .* new collection"):
        Shuffler.kept(CAMPAIGN, 2, key)
    key.write_bytes(b"k" * 32)
    with pytest.raises(DiscreetError, match="is not the list"):
        Shuffler.kept(CAMPAIGN, 2, key)
    key.write_bytes(drawn)
    listed.unlink()
    with pytest.raises(DiscreetError, match=r"let out under the key .* is lost"):
        Shuffler.kept(CAMPAIGN, 2, key)
    key.unlink()
    listed.write_bytes(content[: letout.HEAD])  # a start that was broken off before anything went out
    Shuffler.kept(CAMPAIGN, 2, key).close()
    with pytest.raises(DiscreetError, match="cannot use"):
        Shuffler.kept(CAMPAIGN, 2, tmp_path / "none" / "key")


def test_without_a_list_nothing_is_promised_over_restarts(monkeypatch):
    def listen(*_):
        raise AssertionError("it would serve")

    monkeypatch.setattr(serving, "listen", listen)
    mixing = Shuffler(CAMPAIGN, 2, key=b"k" * 32)
    assert not mixing.lasting
    with pytest.raises(DiscreetError, match=r"Shuffler\.kept"):
        serving.serve_shuffler(mixing, "http://collector", tell=lambda _: None)


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
    assert both.epsilon == "1" and f"epsilon = {above(told.epsilon)} with" in both.accounting and both.delta == "0"
    assert any("shuffler is honest" in one for one in both.assumptions)
    with pytest.raises(BudgetError, match="another epsilon"):
        central(Campaign(SCHEMA, 2.0), 1000).stated(certificate)


@pytest.mark.parametrize(
    ("epsilon", "said"),
    [(0.043206279192506976, "0.04321"), (0.11962832379531393, "0.1197"), (1.0, "1"), (0.1, "0.1"), (2.50001, "2.501")],
)
def test_what_is_stated_is_never_below(epsilon, said):
    assert above(epsilon) == said and float(said) >= epsilon


def test_the_tables_of_the_page_are_never_below():
    """Every number is the bound rounded up in its last digit."""
    told = re.findall(
        r"^\| ([\d,]+) \| (\S+) \| (\S+) \| (\S+) \|$", (pages.DOCS / "shuffling.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(told) == 4
    for row in told:
        n = int(row[0].replace(",", ""))
        for text, variation in zip(row[1:], [None, *((math.e - 1) / (math.e + d - 1) for d in (4, 12))], strict=True):
            assert 0 <= float(text) - central_epsilon(Variation.of(1, variation), n, 1e-6) < 1e-4


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


def test_a_disk_that_is_full_delays_a_batch(tmp_path, monkeypatch):
    """Reports were taken and wait; with the next post they go out together."""
    got, told, done = [], [], threading.Event()
    monkeypatch.setattr(serving, "post", lambda _, body: (got.append(body), done.set()))
    sent, sync, full = reports(4), letout.os.fsync, iter([True])

    def fsync(handle):
        if next(full, False):
            raise OSError(28, "No space left on device")
        sync(handle)

    with Shuffler.kept(CAMPAIGN, 3, tmp_path / "key") as mixing:
        monkeypatch.setattr(letout.os, "fsync", fsync)
        with TestClient(serving.ShufflerSite(mixing, "http://collector", told.append).app()) as client:
            for body, waiting in ((b"".join(sent[:3]), 3), (sent[3], 0)):
                assert client.post("/reports", content=body, headers={"content-type": serving.KIND}).status_code == 200
                assert mixing.waiting == waiting
            assert done.wait(10)
    assert len(told) == 1 and "takes nothing more" in told[0]
    assert payloads(got[0]) == payloads(b"".join(sent))


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
    collect = ["local", "collect", "shuffled.bin", "--campaign", "campaign.json", "--out", "more.json"]
    assert discreet(*collect, "--shuffled", 1201) == 2
    assert "fewer than 1201 reports" in capsys.readouterr().err and not (tmp_path / "more.json").exists()
    assert discreet("local", "shuffle", "--campaign", "campaign.json", "--key", "k") == 2
    assert "--to" in capsys.readouterr().err


def test_a_growing_file_lets_each_report_out_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    CAMPAIGN.save("campaign.json")
    sent = reports(7)
    shuffle = ["local", "shuffle", "reports.bin", "--campaign", "campaign.json", "--least", 3, "--out"]
    (tmp_path / "reports.bin").write_bytes(b"".join(sent[:3]))
    assert discreet(*shuffle, "one.bin") == 2
    assert "--key" in capsys.readouterr().err
    shuffle[2:2] = ["--key", "shuffler.key"]
    assert discreet(*shuffle, "one.bin") == 0
    first = (tmp_path / "one.bin").read_bytes()
    (tmp_path / "reports.bin").write_bytes(b"".join(sent[:5]))
    assert discreet(*shuffle, "two.bin") == 2  # two are new: fewer than a batch, whatever the file holds
    assert "fewer than 3" in capsys.readouterr().err and not (tmp_path / "two.bin").exists()
    (tmp_path / "reports.bin").write_bytes(b"".join(sent))
    assert discreet(*shuffle, "one.bin") == 2  # the first batch cannot be let out again, so it is not written over
    assert "choose another --out" in capsys.readouterr().err and (tmp_path / "one.bin").read_bytes() == first
    assert discreet(*shuffle, "two.bin", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["accepted"], told["replayed"], told["central"]["reports"]) == (4, 3, 3)
    assert not set(ids(first)) & set(ids((tmp_path / "two.bin").read_bytes()))
    with Collector(CAMPAIGN) as collector:
        assert collector.add_batch(first + (tmp_path / "two.bin").read_bytes()).accepted == 7


def test_an_event_loop_is_all_it_needs():
    """The errand ends with the site, whether or not the collector was there."""

    async def visit():
        site = serving.ShufflerSite(Shuffler(CAMPAIGN, 3), "http://collector", lambda _: None)
        async with site.lifespan(None):
            pass
        return site.out.qsize()

    assert asyncio.run(visit()) == 0
