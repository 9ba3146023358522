"""The participants' page in a real browser with the real collector behind it, and what it is made of."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import re
import shutil
import subprocess
import threading
from typing import ClassVar

import pytest

from discreet import Categorical, Numeric, Schema
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.collector import Collector
from discreet.local.participants import Page, asset, integrity
from discreet.local.receipt import receipt
from discreet.local.texts import TEXTS
from tests.local.servers import Server

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")

SCHEMA = Schema(
    [
        Categorical("sex", ["f", "m"], other="another"),
        Categorical("colour", ["red", "green", "blue", "white", "black", "brown", "grey"], missing="category"),
        Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100]),
        Numeric("weight", 0, 200, bins=4, missing="bin"),
    ],
    target="smokes",
    classes=["no", "yes"],
)
READY = "return !document.getElementById('send').disabled"
SAID = "return document.querySelector('#said h2')?.textContent"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("page")
    Campaign(SCHEMA, 1.0).save(found / "c.json")
    (found / "about.txt").write_text("The town asks.\n\nWho smokes, & <why>?")
    return found


@pytest.fixture(scope="module")
def server(folder):
    with Server(folder, "--page", "--title", "Smoking in town", "--about", "about.txt") as running:
        yield running


def answer_by_keyboard(browser):
    """Every question in its turn, without a mouse: the first choice, a typed one, a number, none, the second choice."""
    browser.wait(READY)
    for place, keys in (
        ("q0-0", ["SPACE"]), ("q1", ["blue"]), ("q2", ["34"]), ("q3-none", ["SPACE"]), ("q4-0", ["ARROW_DOWN"]),
    ):  # fmt: skip
        browser.tab_to(place)
        browser.press(*keys)
    browser.tab_to("send")
    browser.press("ENTER")


def accepted(server):
    return json.loads(server.get("/status")[2])["accepted"]


def last_report(browser):
    kept = json.loads(browser.run("return localStorage.getItem('discreet/client')"))
    return base64.b64decode(kept["last"])


def test_a_person_answers_by_keyboard_alone_and_once(browser, server, folder):
    before = accepted(server)
    browser.open(f"{server.address}/")
    answer_by_keyboard(browser)
    assert browser.wait(SAID) == TEXTS["sent"] and browser.focused() == "h2"
    assert accepted(server) == before + 1
    # What is shown is what was sent, and it is what the store holds.
    frame = last_report(browser)
    told = receipt(Campaign(SCHEMA, 1.0), frame)
    shown = browser.text("#said")
    assert told.parts[0].words in shown and told.base64 in shown and told.id in shown
    assert bytes.fromhex(browser.text("#sent-hexadecimal")) == frame
    with Collector.load(folder / "s.db", readonly=True) as store:
        assert frame in b"".join(store._store.batches())
    # A second visit is refused politely, and sends nothing by itself.
    browser.open(f"{server.address}/")
    assert browser.wait(SAID) == TEXTS["again"]
    assert told.base64 in browser.text("#said") and not browser.run(
        "return document.querySelector('form').offsetHeight"
    )
    assert accepted(server) == before + 1
    browser.tab_to("resend")
    browser.press("ENTER")
    browser.wait(f"{SAID} === {json.dumps(TEXTS['sent'])}")
    assert TEXTS["counted_before"] in browser.text("#said") and last_report(browser) == frame
    assert accepted(server) == before + 1 and json.loads(server.get("/status")[2])["rejected"]["replayed"] == 1
    assert not browser.errors() and not browser.external(server.address)


def test_everybody_can_use_it(browser, server):
    for path in ("/", "/status"):
        for dark in (False, True):
            browser.reset()
            browser.dark(dark)
            browser.viewport(400)
            browser.open(f"{server.address}{path}")
            if path == "/":
                browser.wait(READY)
                browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert not browser.axe(worst=("minor", "moderate", "serious", "critical")), (path, dark)
            assert browser.overflow() == 0 and not browser.errors() and not browser.external(server.address)
    browser.reset()
    browser.open(f"{server.address}/")
    answer_by_keyboard(browser)
    browser.wait(SAID)
    browser.bars(server.address)


def test_what_is_left_out_is_asked_for_and_nothing_is_sent(browser, server):
    before = accepted(server)
    browser.open(f"{server.address}/")
    browser.wait(READY)
    browser.tab_to("send")
    browser.press("ENTER")
    assert browser.focused() == "q0-0" and not browser.run(SAID)
    assert accepted(server) == before and browser.run("return localStorage.length") == 0


def test_a_page_whose_questions_are_others_sends_nothing(browser, server):
    browser.open(f"{server.address}/#pin={'0' * 64}")
    assert browser.wait(SAID) == TEXTS["trouble"]
    assert TEXTS["foreign"] in browser.text("#said") and browser.run("return localStorage.length") == 0


def test_a_script_that_was_changed_does_not_run(browser, tmp_path):
    """The hashes on the page are not decoration: one more space in either script, and nothing can be sent."""
    plan = Campaign(SCHEMA, 1.0)
    plan.save(tmp_path / "campaign.json")
    (tmp_path / "index.html").write_text(Page(plan).html)
    handler = functools.partial(_Quiet, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for changed in ("", "client.mjs", "page.mjs"):
            for name in ("client.mjs", "page.mjs", "page.css"):
                (tmp_path / name).write_text(asset(name) + (" " if name == changed else ""))
            browser.reset()
            browser.open(f"http://127.0.0.1:{server.server_port}/")
            if not changed:
                browser.wait(READY)
                assert not browser.errors()
                continue
            browser.wait("return document.readyState === 'complete'")
            assert any("integrity" in one for one in browser.errors()), changed
            assert browser.run("return document.getElementById('send').disabled"), changed
        server.shutdown()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map: ClassVar[dict[str, str]] = {
        ".mjs": "text/javascript", ".html": "text/html", ".css": "text/css", ".json": "application/json"
    }  # fmt: skip

    def log_message(self, *_):
        pass


def test_a_collector_that_is_away_gets_the_same_report_later(browser, tmp_path):
    Campaign(SCHEMA, 1.0).save(tmp_path / "c.json")
    with Server(tmp_path, "--page", "--tokens") as server:
        browser.open(f"{server.address}/")
        answer_by_keyboard(browser)  # without a token
        assert browser.wait(SAID) == TEXTS["unsent"] and accepted(server) == 0
        frame = last_report(browser)
        port = server.port
        server.end(15)
    with Collector(Campaign(SCHEMA, 1.0), store=tmp_path / "s.db") as store:
        (token,) = store.make_tokens(1)
    with Server(tmp_path, "--page", "--tokens", "--port", str(port)) as server:
        browser.tab_to("token")
        browser.press(token)
        browser.tab_to("resend")
        browser.press("ENTER")
        browser.wait(f"{SAID} === {json.dumps(TEXTS['sent'])}")
        assert accepted(server) == 1 and last_report(browser) == frame


def test_two_collections_of_a_site_share_one_account(browser, tmp_path):
    for name, epsilon in (("one", 1.0), ("two", 0.5)):
        Campaign(SCHEMA, epsilon).save(tmp_path / f"{name}.json")
    (tmp_path / "all.toml").write_text(
        "".join(f"[{one}]\ncampaign = '{one}.json'\nstore = '{one}.db'\npage = true\n" for one in ("one", "two"))
    )
    with Server(tmp_path, what=("--campaigns", "all.toml")) as server:
        browser.open(f"{server.address}/")
        assert not browser.axe() and not browser.errors()
        browser.tab_to("a", most=3)
        browser.press("ENTER")
        browser.wait("return location.pathname === '/one/'")
        answer_by_keyboard(browser)
        browser.wait(SAID)
        browser.open(f"{server.address}/two/")
        browser.wait(READY)
        assert "ε = 1 so far; with this one it is 1.5" in browser.text("#account")
        answer_by_keyboard(browser)
        assert browser.wait(SAID) == TEXTS["sent"]
        listed = json.loads(server.get("/")[2])["campaigns"]
        assert [one["accepted"] for one in listed] == [1, 1] and not browser.errors()
        browser.open(f"{server.address}/one/")
        assert browser.wait(SAID) == TEXTS["again"]


# ---- without a browser


def test_headers_and_hashes(server):
    status, headers, text = server.get("/", accept="text/html")
    assert status == 200 and headers["content-type"].startswith("text/html")
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "http" not in policy
    assert not re.search(r"\bon\w+=|\bstyle=|https?://", text)
    for name, code in server.told["integrity"].items():
        assert text.count(code) == 2 and code == integrity(server.get(f"/{name}")[2])
    assert server.told["pages"] == {f"{server.address}/": Campaign(SCHEMA, 1.0).pin}
    assert text.count(Campaign(SCHEMA, 1.0).pin) == 2
    assert "Who smokes, &amp; &lt;why&gt;?" in text and "<why>" not in text
    assert json.loads(server.get("/")[2])["title"] == "Smoking in town"  # a program is told the facts


def test_names_cannot_smuggle_markup():
    schema = Schema([Categorical("<script>x</script>", ["</script><b>", "b"])], target='"<i>', classes=["no", "<u>"])
    text = Page(Campaign(schema, 1.0), title="<h1>", about="<p>").html
    for mark in ("<script>x", "</script><b>", "<i>", "<u>", "<h1><h1>"):
        assert mark not in text
    assert text.count("</script>") == 3


def test_every_value_of_the_schema_has_a_place_in_the_form():
    page = Page(Campaign(SCHEMA, 1.0))
    for field, feature in zip(page.config["fields"], (*SCHEMA.features, SCHEMA.label), strict=True):
        assert field["name"] == feature.name
        if "values" in field:
            client = LocalClient(Campaign(SCHEMA, 1.0), memory=None)
            assert all(not [one for one in client.placeless({feature.name: value}) if feature.name in one]
                       for value in field["values"] if feature is not SCHEMA.label)  # fmt: skip
            assert f'name="{field["id"]}"' in page.html and TEXTS["nothing"] in page.html


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_is_plain_javascript(tmp_path):
    (tmp_path / "page.mjs").write_text(asset("page.mjs"))
    assert subprocess.run(["node", "--check", tmp_path / "page.mjs"], check=False).returncode == 0
    used = set(re.findall(r"\btexts\.(\w+)", asset("page.mjs")))
    assert used <= {*Page(Campaign(SCHEMA, 1.0)).config["texts"]} and len(used) > 15
