"""The HTTP collector, asked in the same process: answers, limits, pages."""

from __future__ import annotations

import json
import threading

import pytest

from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign
from discreet.local.collector import Collector
from discreet.local.javascript import client_module
from tests.local.people import OTHER, SCHEMA, report_file, report_list

testclient = pytest.importorskip("starlette.testclient", reason="the extra 'serve' is not installed")
from discreet.local.serve import listen, make_app, serve  # noqa: E402 - the module needs the extra


@pytest.fixture
def site(tmp_path):
    """A client of a fresh server."""
    collector = Collector(Campaign(SCHEMA, 1.0), store=tmp_path / "s.db")
    with testclient.TestClient(make_app(collector, max_bytes=20_000, cors=["https://survey.example"])) as client:
        client.collector = collector
        yield client


def test_batches_are_counted_once(site):
    raw = report_file(100)
    assert site.post("/reports", content=raw).json() == {
        "accepted": 100, "malformed": 0, "foreign": 0, "unexpected": 0, "replayed": 0
    }  # fmt: skip
    assert site.post("/reports", content=raw).json()["replayed"] == 100
    mixed = raw[:50] + report_file(3, schema=OTHER) + report_file(4, 2.0) + report_list(5, seed=2)[0]
    assert site.post("/reports", content=mixed).json() == {
        "accepted": 1, "malformed": 1, "foreign": 3, "unexpected": 4, "replayed": 1
    }  # fmt: skip
    assert site.post("/reports", content=b"").json()["accepted"] == 0
    assert site.collector.accepted == 101


def test_too_large_with_and_without_a_length(site):
    big = report_file(1000)
    for content in (big, (big[i : i + 1000] for i in range(0, len(big), 1000))):
        answer = site.post("/reports", content=content)
        assert answer.status_code == 413 and "20000 bytes" in answer.json()["error"]
    assert site.collector.accepted == 0


def test_wrong_method_address_and_encoding(site):
    answer = site.get("/reports")
    assert answer.status_code == 405 and "POST" in answer.json()["error"] and answer.headers["allow"] == "POST"
    assert site.get("/absent").status_code == 404 and site.get("/absent").json()["error"]
    assert site.post("/reports", content=b"x", headers={"content-encoding": "gzip"}).status_code == 415
    assert site.delete("/status").status_code == 405


def test_back_pressure(tmp_path):
    collector = Collector(Campaign(SCHEMA, 1.0), store=tmp_path / "s.db")
    with testclient.TestClient(make_app(collector, max_bytes=10_000, room=3000)) as client:
        answer = client.post("/reports", content=report_file(100))
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
        assert client.post("/reports", content=report_file(50)).json()["accepted"] == 50  # the room was given back


def test_a_store_that_fails_is_told_and_nothing_acknowledged(site, monkeypatch):
    import sqlite3

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(site.collector._store, "write", full)
        answer = site.post("/reports", content=report_file(10))
        assert answer.status_code == 503 and "retry-after" in answer.headers
        assert site.get("/healthz").status_code == 503
    assert site.post("/reports", content=report_file(10)).json()["accepted"] == 10
    assert site.get("/healthz").json() == {"ok": True}


def test_status_for_machines_and_people(site):
    site.post("/reports", content=report_file(42) + b"bad")
    facts = site.get("/status").json()
    assert facts["accepted"] == 42 and facts["rejected"]["malformed"] == 1 and facts["epsilon"] == 1
    assert facts["since"] == site.collector.since and len(facts["questions"]) == 4
    page = site.get("/status", headers={"accept": "text/html,*/*"})
    assert page.headers["content-type"].startswith("text/html") and ">42<" in page.text and "colour" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_names_cannot_smuggle_markup_into_the_page():
    from discreet import Categorical, Schema
    from discreet.local.serve import page

    schema = Schema([Categorical("<script>x</script>", ["a", "b"])], target="<b>", classes=["no", "yes"])
    collector = Collector(Campaign(schema, 1.0))
    with testclient.TestClient(make_app(collector)) as client:
        text = client.get("/", headers={"accept": "text/html"}).text
        facts = client.get("/status").json()
    assert "<script>" not in text and "<b>" not in text and "&lt;script&gt;" in text and page(facts) == text


def test_campaign_and_client(site):
    assert site.get("/campaign.json").json() == json.loads(json.dumps(Campaign(SCHEMA, 1.0).to_dict()))
    answer = site.get("/client.mjs")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/javascript")
    assert answer.text == client_module()


def test_cors(site):
    asked = {"origin": "https://survey.example", "access-control-request-method": "POST"}
    assert site.options("/reports", headers=asked).headers["access-control-allow-origin"] == asked["origin"]
    other = site.get("/status", headers={"origin": "https://elsewhere.example"})
    assert "access-control-allow-origin" not in other.headers


def test_many_at_once_are_answered_each_for_itself(site):
    reports = report_list(120)
    answers = {}

    def post(i):
        answers[i] = site.post("/reports", content=b"".join(reports[i : i + 4])).json()

    threads = [threading.Thread(target=post, args=(i,)) for i in range(0, 118, 2)]  # each report in two posts
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(one["accepted"] for one in answers.values()) == 120 == site.collector.accepted
    assert all(one["accepted"] + one["replayed"] == 4 for one in answers.values())


def test_mistakes(tmp_path):
    with pytest.raises(DiscreetError, match="needs a campaign"):
        make_app(Collector(SCHEMA))
    with pytest.raises(DiscreetError, match="from 1 to"):
        make_app(Collector(Campaign(SCHEMA, 1.0)), max_bytes=0)
    with listen("127.0.0.1", 0) as bound, pytest.raises(DiscreetError, match="cannot listen"):
        listen("127.0.0.1", bound.getsockname()[1])
    with pytest.raises(DiscreetError, match="cannot listen"):
        listen("no such host!", 80)
    with pytest.raises(DiscreetError, match="both a certificate and a key"):
        serve(Campaign(SCHEMA, 1.0), tmp_path / "s.db", tls_cert=tmp_path / "c.pem")
    with pytest.raises(DiscreetError, match="cannot be used"):
        serve(Campaign(SCHEMA, 1.0), tmp_path / "s.db", tls_cert=tmp_path / "c.pem", tls_key=tmp_path / "k.pem")
    assert not (tmp_path / "s.db").exists()
