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

BYTES = {"content-type": "application/octet-stream"}


@pytest.fixture
def site(tmp_path):
    """A client of a fresh server."""
    collector = Collector(Campaign(SCHEMA, 1.0), store=tmp_path / "s.db")
    with testclient.TestClient(make_app(collector, max_bytes=20_000, cors=["https://survey.example"])) as client:
        client.collector = collector
        yield client


def test_batches_are_counted_once(site):
    raw = report_file(100)
    assert site.post("/reports", headers=BYTES, content=raw).json() == {
        "accepted": 100, "malformed": 0, "foreign": 0, "unexpected": 0, "replayed": 0
    }  # fmt: skip
    assert site.post("/reports", headers=BYTES, content=raw).json()["replayed"] == 100
    mixed = raw[:50] + report_file(3, schema=OTHER) + report_file(4, 2.0) + report_list(5, seed=2)[0]
    assert site.post("/reports", headers=BYTES, content=mixed).json() == {
        "accepted": 1, "malformed": 1, "foreign": 3, "unexpected": 4, "replayed": 1
    }  # fmt: skip
    assert site.post("/reports", headers=BYTES, content=b"").json()["accepted"] == 0
    assert site.collector.accepted == 101


def test_too_large_with_and_without_a_length(site):
    big = report_file(1000)
    for content in (big, (big[i : i + 1000] for i in range(0, len(big), 1000))):
        answer = site.post("/reports", headers=BYTES, content=content)
        assert answer.status_code == 413 and "20000 bytes" in answer.json()["error"]
    assert site.collector.accepted == 0


def test_wrong_method_address_and_encoding(site):
    answer = site.get("/reports")
    assert answer.status_code == 405 and "POST" in answer.json()["error"] and answer.headers["allow"] == "POST"
    assert site.get("/absent").status_code == 404 and site.get("/absent").json()["error"]
    assert site.post("/reports", content=b"x", headers={**BYTES, "content-encoding": "gzip"}).status_code == 415
    assert site.delete("/status").status_code == 405


def test_back_pressure(tmp_path):
    collector = Collector(Campaign(SCHEMA, 1.0), store=tmp_path / "s.db")
    with testclient.TestClient(make_app(collector, max_bytes=10_000, room=3000)) as client:
        answer = client.post("/reports", headers=BYTES, content=report_file(100))
        assert answer.status_code == 503 and answer.headers["retry-after"] == "1"
        assert (
            client.post("/reports", headers=BYTES, content=report_file(50)).json()["accepted"] == 50
        )  # the room was given back


def test_a_store_that_fails_is_told_and_nothing_acknowledged(site, monkeypatch, caplog):
    import sqlite3

    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(site.collector._store, "write", full)
        answer = site.post("/reports", headers=BYTES, content=report_file(10))
        assert answer.status_code == 503 and "retry-after" in answer.headers
        assert site.get("/healthz").status_code == 503
        assert "discreet_collector_healthy 0" in site.get("/metrics").text
    monkeypatch.setattr("discreet.local.site.PROBED", -1.0)
    assert site.get("/healthz").json() == {"ok": True}  # found out by writing: nobody has to post first
    assert site.post("/reports", headers=BYTES, content=report_file(10)).json()["accepted"] == 10
    said = [json.loads(record.message) for record in caplog.records if record.name == "discreet.collector"]
    assert [one["event"] for one in said] == ["disk-failure", "disk-recovered"]
    assert "disk is full" in said[0]["error"] and "time" in said[0]


def test_status_for_machines_and_people(site):
    site.post("/reports", headers=BYTES, content=report_file(42) + b"bad")
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
        answers[i] = site.post("/reports", headers=BYTES, content=b"".join(reports[i : i + 4])).json()

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


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "text/plain;charset=UTF-8", "multipart/form-data", "application/x"]
)
def test_only_bytes_are_taken_which_no_foreign_page_can_send_unasked(site, kind):
    headers = {} if kind is None else {"content-type": kind}
    answer = site.post("/reports", content=report_file(3), headers=headers)
    assert answer.status_code == 415 and "application/octet-stream" in answer.json()["error"]
    assert site.collector.accepted == 0


@pytest.mark.parametrize(
    ("origin", "status"),
    [("https://survey.example", 200), ("http://testserver", 200), ("https://evil.example", 403), ("null", 403),
     ("https://survey.example.evil.example", 403)],
)  # fmt: skip
def test_only_named_sites_post_through_their_visitors(site, origin, status):
    answer = site.post("/reports", content=report_file(3), headers={**BYTES, "origin": origin})
    assert answer.status_code == status
    assert site.collector.accepted == (3 if status == 200 else 0)
    asked = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type",
    }
    allowed = site.options("/reports", headers=asked).headers.get("access-control-allow-origin")
    assert allowed == (origin if origin == "https://survey.example" else None)


def test_a_site_for_every_page_or_for_none(tmp_path):
    for cors, status in (((), 403), (("*",), 200)):
        collector = Collector(Campaign(SCHEMA, 1.0))
        with testclient.TestClient(make_app(collector, cors=cors)) as client:
            headers = {**BYTES, "origin": "https://any.example"}
            assert client.post("/reports", content=report_file(1), headers=headers).status_code == status


def test_no_more_reports_than_the_collection_takes(tmp_path):
    frames = report_list(30)
    with Collector(Campaign(SCHEMA, 1.0), store=tmp_path / "s.db", max_reports=20) as collector:
        first = collector.add_batch(b"".join(frames[:15]))
        assert (first.accepted, first.unexpected) == (15, 0)
        second = collector.add_batch(b"".join(frames))  # fifteen are known, five have room
        assert (second.accepted, second.replayed, second.unexpected) == (5, 15, 10)
        third = collector.add_batch(b"".join(frames))
        assert (third.accepted, third.replayed, third.unexpected) == (0, 20, 10)
        assert collector.accepted == 20
    with pytest.raises(DiscreetError, match="max_reports"):
        Collector(Campaign(SCHEMA, 1.0), max_reports=0)


def test_metrics_say_no_more_than_the_status(site):
    site.post("/reports", headers=BYTES, content=report_file(42) + b"bad")
    site.post("/reports", content=b"")
    answer = site.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = answer.text.splitlines()
    values = {line.rsplit(" ", 1)[0]: line.rsplit(" ", 1)[1] for line in lines if not line.startswith("#")}
    assert values == {
        'discreet_collector_reports_total{fate="accepted"}': "42",
        'discreet_collector_reports_total{fate="malformed"}': "1",
        'discreet_collector_reports_total{fate="foreign"}': "0",
        'discreet_collector_reports_total{fate="unexpected"}': "0",
        'discreet_collector_reports_total{fate="replayed"}': "0",
        'discreet_collector_posts_total{status="200"}': "1",
        'discreet_collector_posts_total{status="415"}': "1",
        "discreet_collector_bytes_waiting": "0",
        "discreet_collector_healthy": "1",
    }
    assert sum(line.startswith("# TYPE ") for line in lines) == 5


def test_the_document_names_every_address_and_nothing_else(site):
    told = site.get("/openapi.json").json()
    assert told["openapi"].startswith("3.1")
    routes = {route.path: route.methods - {"HEAD"} for route in site.app.routes if route.path != "/"}
    assert {path: {method.upper() for method in ways} for path, ways in told["paths"].items()} == routes
    assert {"200", "403", "408", "413", "415", "503"} == set(told["paths"]["/reports"]["post"]["responses"])


def test_tokens_let_one_new_report_in_each_and_are_kept_beside_none(tmp_path):
    campaign, frames = Campaign(SCHEMA, 1.0), report_list(6)
    collector = Collector(campaign, store=tmp_path / "s.db", tokens=True)
    first, second = collector.make_tokens(2)
    with testclient.TestClient(make_app(collector)) as client:

        def post(body, token=None):
            headers = {**BYTES, **({"discreet-token": token} if token else {})}
            found = client.post("/reports", content=body, headers=headers).json()
            return found["accepted"], found["replayed"], found["unexpected"]

        assert post(frames[0]) == post(frames[0], "invented") == (0, 0, 1)
        assert post(frames[0], first) == (1, 0, 0)
        assert post(frames[0], first) == post(frames[0]) == (0, 1, 0)  # an answer that was lost is asked for again
        assert post(frames[1], first) == (0, 0, 1)  # used
        assert post(b"".join(frames[1:4]), second) == (1, 0, 2)  # one, not as many as a post holds
        assert collector.accepted == 2
    with Collector(campaign, store=tmp_path / "s.db", tokens=True) as again:
        assert again.add(frames[4]) == "unexpected"
        (third,) = again.make_tokens(1)
        found = again.add_buffers([frames[4], frames[5]], [third, third])  # two posts at once with one token
        assert sorted(one.accepted for one in found) == [0, 1]
    raw = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert not any(token.encode() in raw for token in (first, second, third))
