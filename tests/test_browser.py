"""The tests' browser notices what it is there to notice: errors, requests, width, colours, and pages few can use."""

from __future__ import annotations

import http.server
import threading

import pytest

STYLE = "<style>@media (prefers-color-scheme: dark) {body {color: #eee; background: #111}}</style>"
GOOD = f"<!doctype html><html lang=en><title>t</title>{STYLE}"


@pytest.fixture
def other():
    """Another origin, that answers anything with nothing."""

    class Quiet(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_quiet_page_is_found_quiet(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f"{GOOD}<main><h1>one</h1><label>name <input id=name></label><button id=go>go</button></main>")
    browser.open(page)
    browser.tab_to("go")
    assert not browser.errors() and not browser.external() and browser.overflow() == 0 and not browser.axe()
    assert browser.text("h1") == "one" and browser.requests() == [page.as_uri()]


def test_faults_are_noticed(browser, tmp_path, other):
    page = tmp_path / "page.html"
    page.write_text(
        f"{GOOD}<input id=name><p style='color:#aaa;background:#fff;width:3000px'>pale</p>"
        f"<img src='{other}/x.png' alt=''>"
        "<script>console.error('one'); throw new Error('two')</script>"
    )
    browser.open(page)
    assert sum("one" in one or "two" in one for one in browser.errors()) == 2
    assert browser.external() == [f"{other}/x.png"] and browser.external(other) == []
    assert browser.overflow() > 0
    assert {one.split()[0] for one in browser.axe()} >= {"label", "color-contrast"}


def test_colours_sizes_keys_and_pictures(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f"{GOOD}<label>name <input id=name></label>")
    browser.open(page)
    browser.dark()
    assert browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(17, 17, 17)"
    browser.viewport(400, 300)
    assert browser.run("return innerWidth") == 400
    browser.tab_to("name")
    browser.press("Ada", "BACKSPACE")
    assert browser.run("return document.activeElement.value") == "Ad"
    assert browser.screenshot(tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


def test_the_bars_are_there_to_fail(browser, tmp_path):
    page = tmp_path / "page.html"
    body = "<main><h1>one</h1><p>two</p></main>"
    page.write_text(GOOD + body)
    browser.open(page)
    browser.bars()
    for worse in ("<p style='width:900px'>wide</p>", "<input id=name>", "<script>console.error('one')</script>"):
        page.write_text(GOOD + body + worse)
        browser.open(page)
        with pytest.raises(AssertionError):
            browser.bars()


def test_nothing_is_left_for_the_next_test(browser, other):
    browser.open(other)
    browser.run("localStorage.setItem('a', 'b'); console.error('left')")
    browser.reset()
    browser.open(other)
    assert browser.run("return localStorage.getItem('a')") is None and not browser.errors()
    browser.run("localStorage.setItem('a', 'b')")
    browser.forget(other)
    browser.open(other)
    assert browser.run("return localStorage.getItem('a')") is None
