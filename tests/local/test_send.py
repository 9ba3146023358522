"""Reports sent by Python devices: one draw whatever happens on the way, and to nobody but the collector."""

from __future__ import annotations

import base64
import contextlib
import http.server
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import BudgetError, DataError, DiscreetError, SchemaError
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.post import SendError, folder
from discreet.local.receipt import receipt
from tests.local.people import SCHEMA
from tests.local.servers import Server

ROW = {"colour": "red", "age": 34, "dose": 0.5, "ill": "yes"}
FINE = {"accepted": 1, "malformed": 0, "foreign": 0, "unexpected": 0, "replayed": 0}


class Collector(http.server.BaseHTTPRequestHandler):
    """Answers as it is told, and notes what comes."""

    def do_POST(self):
        server = self.server
        body = self.rfile.read(int(self.headers["content-length"]))
        server.bodies.append(body)
        server.headers.append({name.lower(): text for name, text in self.headers.items()})
        status, told = server.plan.pop(0) if server.plan else (200, FINE)
        if status == 0:
            self.close_connection = True  # went away in the midst of it
            return
        raw = json.dumps(told).encode() if isinstance(told, dict) else told
        self.send_response(status)
        self.send_header("content-length", str(len(raw)))
        if status == 302:
            self.send_header("location", f"http://127.0.0.1:{server.server_port}/elsewhere")
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


@pytest.fixture
def fake():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        server.bodies, server.headers, server.plan = [], [], []
        server.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def client(tmp_path, **settings):
    return LocalClient(Campaign(SCHEMA, 1.0), memory=tmp_path / "m.json", **settings)


def test_retries_send_the_same_bytes(fake, tmp_path):
    fake.plan = [(0, b""), (503, {}), (429, b""), (500, b"x")]
    slept = []
    said = client(tmp_path).send(ROW, fake.url, wait=1.0, sleep=slept.append)
    assert said["accepted"] == 1 and len(fake.bodies) == 5 and len(set(fake.bodies)) == 1
    assert [2**i / 2 <= one <= 3 * 2**i / 2 for i, one in enumerate(slept)] == [True] * 4


def test_a_restart_sends_what_was_drawn_first_whatever_the_row_says_now(fake, tmp_path):
    fake.plan = [(500, b"")] * 2
    with pytest.raises(SendError, match="kept for the next try"):
        client(tmp_path).send(ROW, fake.url, tries=2, sleep=lambda _: None)
    again = client(tmp_path)
    assert again.send({**ROW, "ill": "no", "colour": "blue"}, f"{fake.url}/reports")["accepted"] == 1
    assert len(set(fake.bodies)) == 1 and float(again.spent) == 1.0
    assert client(tmp_path).post(fake.url)["accepted"] == 1 and len(set(fake.bodies)) == 1
    with pytest.raises(BudgetError):
        client(tmp_path).report(ROW)


def test_it_remembers_across_restarts_without_being_told_to(fake, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for _ in range(3):
        LocalClient(Campaign(SCHEMA, 1.0)).send(ROW, fake.url)
    assert len(fake.bodies) == 3 and len(set(fake.bodies)) == 1


def test_many_at_once_draw_one_report(fake, tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: client(tmp_path).send(ROW, fake.url), range(16)))
    assert len(fake.bodies) == 16 and len(set(fake.bodies)) == 1


def test_a_refusal_is_told_and_not_tried_again(fake, tmp_path):
    for plan, words in (
        ((200, {**FINE, "accepted": 0, "unexpected": 1}), "unexpected"),
        ((200, b"<html>"), "no collector"),
        ((200, {}), "not counted"),
        ((404, b""), "404"),
        ((302, b""), "302"),
    ):
        fake.plan, count = [plan], len(fake.bodies)
        with pytest.raises(SendError, match=words):
            client(tmp_path).send(ROW, fake.url, sleep=lambda _: None)
        assert len(fake.bodies) == count + 1  # not even where it is told to go elsewhere
    assert len(set(fake.bodies)) == 1


def test_nothing_names_the_sender(fake, tmp_path):
    client(tmp_path).send(ROW, f"{fake.url}/folder/", token="t")
    (headers,) = fake.headers
    assert headers.pop("discreet-token") == "t" and headers.pop("host") and headers.pop("content-length")
    assert headers == {
        "accept-encoding": "identity", "content-type": "application/octet-stream", "user-agent": "discreet",
        "accept": "application/json", "connection": "close",
    }  # fmt: skip


def test_addresses(tmp_path):
    assert folder("http://a:1/x/reports") == folder("http://a:1/x/") == "http://a:1/x/"
    for wrong in ("file:///etc/passwd", "ftp://a/b", "a:1", ""):
        with pytest.raises(SendError, match="no address"):
            client(tmp_path).send(ROW, wrong)
    with pytest.raises(SendError, match="no report to send"):
        LocalClient(Campaign(SCHEMA, 1.0), memory=None).post("http://127.0.0.1:9")
    with pytest.raises(SendError, match="does not answer"):
        client(tmp_path).post("http://127.0.0.1:9", tries=1)


# ---- the command, with the real collector


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    place = tmp_path_factory.mktemp("send")
    Campaign(SCHEMA, 1.0).save(place / "c.json")
    with Server(place) as running:
        yield running


def test_the_command_sends_one_row_and_shows_what_was_sent(discreet, server, tmp_path):
    where = ["local", "send", server.address, "--memory", tmp_path / "m.json"]
    flags = [one for name, value in ROW.items() for one in ("--set", f"{name}={value}")]
    done = discreet(*where, *flags, "--json", "--pin", Campaign(SCHEMA, 1.0).pin)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    frame = base64.b64decode(told["base64"])
    assert told["answer"]["accepted"] == 1 and not told["again"] and told["spent"] == 1.0
    assert json.loads(json.dumps(receipt(Campaign(SCHEMA, 1.0), frame).to_dict())).items() <= told.items()
    again = discreet(*where, *flags)
    assert again.returncode == 0 and "made before" in again.stderr and told["hex"] in again.stdout.replace("\n", "")
    assert "had counted it before" in again.stdout and told["parts"][0]["about"] in again.stdout


def test_the_command_reads_a_row_from_a_file(discreet, server, tmp_path):
    (tmp_path / "row.json").write_text(json.dumps({**ROW, "shoe": 43}))
    done = discreet("local", "send", server.address, "--memory", tmp_path / "m.json", "--row", tmp_path / "row.json")
    assert done.returncode == 0 and "does not ask for 'shoe'" in done.stderr and "counted it" in done.stdout


def test_the_token_stands_in_no_command_line(discreet, fake, tmp_path, monkeypatch):
    """From a file or the environment it goes into the header, as it does from the flag."""
    (tmp_path / "t").write_text("from-file\n")
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "c.json").write_text(json.dumps(Campaign(SCHEMA, 1.0).to_dict()))
    (tmp_path / "row.json").write_text(json.dumps(ROW))
    heard = []
    monkeypatch.setattr("discreet.local.client.LocalClient.send", lambda *_, token=None, **more: heard.append(token))
    from discreet.cli.send import send

    def tell(**given):
        with contextlib.suppress(Exception):  # nothing was sent, so there is nothing to show
            send("http://x", row=str(tmp_path / "row.json"), campaign=tmp_path / "c.json", pin=None, budget=None,
                 memory=tmp_path / "m.json", tries=1, as_json=True, given=None,
                 **{"token": None, "token_file": None, **given})  # fmt: skip

    tell(token_file=tmp_path / "t")
    tell(token="from-environment")
    tell(token_file=tmp_path / "empty")
    assert heard == ["from-file", "from-environment"]
    done = discreet("local", "send", fake.url, "--row", tmp_path / "row.json", "--token-file", tmp_path / "empty")
    assert done.returncode == 2 and "no token" in done.stderr
    assert "DISCREET_TOKEN" in discreet("local", "send", "--help").stdout


@pytest.mark.parametrize("token", ["secret\nx: y", "secret\r", "secr\u00e9t\u2028", "secret "])
def test_what_is_no_token_is_refused_and_not_repeated(discreet, fake, tmp_path, token):
    with pytest.raises(DataError, match="no token") as refused:
        client(tmp_path).send(ROW, fake.url, token=token)
    assert "secr" not in str(refused.value) and not fake.bodies
    done = discreet("local", "send", fake.url, "--row", tmp_path / "row.json", "--token", token)
    assert done.returncode == 2 and "no token" in done.stderr and "secr" not in done.stderr + done.stdout


def test_one_token_is_given_and_its_file_may_hold_anything(discreet, fake, tmp_path):
    (tmp_path / "t").write_bytes(b"secr\xff\xfe\n")
    for given, said in (((), "no token"), (("--token", "t"), "one token")):
        done = discreet("local", "send", fake.url, "--row", "r.json", "--token-file", tmp_path / "t", *given)
        assert done.returncode == 2 and said in done.stderr and "secr" not in done.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "no row"), (["--set", "age"], "NAME=VALUE"), (["--set", "shoe=43"], "asks for colour, age"),
        (["--row", "absent.json"], "cannot read"), (["--set", "age=3", "--pin", "0"], "another schema"),
    ],
)  # fmt: skip
def test_what_cannot_be_sent_costs_nothing(discreet, server, tmp_path, given, words):
    done = discreet("local", "send", server.address, "--memory", tmp_path / "m.json", *given)
    assert done.returncode == 2 and words in done.stderr and not (tmp_path / "m.json").exists()


def test_an_address_without_a_collector(discreet, fake, tmp_path):
    done = discreet("local", "send", fake.url, "--set", "age=3", "--memory", tmp_path / "m.json")
    assert done.returncode == 2 and "404" in done.stderr and not (tmp_path / "m.json").exists()


def test_a_campaign_that_lies_is_computed_anew():
    raw = Campaign(SCHEMA, 1.0).to_dict()
    raw["questions"][0]["constants"]["true"] = "0"
    assert Campaign.read(json.dumps(raw).encode()) == Campaign(SCHEMA, 1.0)
    with pytest.raises(DiscreetError, match="not a campaign"):
        Campaign.read(b"[]")
    with pytest.raises(SchemaError):
        LocalClient(Campaign(SCHEMA, 1.0), pin="0", memory=None)
