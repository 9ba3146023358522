"""Dashboards: one board as a page that asks nobody else anything, that only this machine sees, and that reads well."""

from __future__ import annotations

import http.client
import json
import re
import threading
from html.parser import HTMLParser

import pytest

from discreet.dashboard import POLICY, SCRIPT, Board, _source, make_server, page
from discreet.errors import DiscreetError

BOARD = Board("A <b>title</b>", "it & goes", [("what", "<i>is</i>")], ("who", "how"), [["a<", "b"]], {"n": 1})


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def test_the_page_is_accessible_and_asks_nobody_else():
    tags = Tags(page(BOARD)).found
    names = [name for name, _ in tags]
    assert dict(tags)["html"]["lang"] == "en" and names.count("h1") == 1 and "main" in names and "title" in names
    assert all("scope" in attributes for name, attributes in tags if name == "th")
    assert names.count("table") == names.count("caption") == 2
    assert ("button", {"type": "button", "id": "pause", "aria-pressed": "false", "hidden": None}) in tags
    assert any(attributes.get("role") == "status" for _, attributes in tags)
    assert not any({"src", "href", "srcset", "action"} & set(attributes) for _, attributes in tags)
    assert not {"b", "i"} & set(names)  # what is shown cannot smuggle markup in
    assert "//" not in re.sub(r"<!doctype html>", "", page(BOARD))
    assert _source(SCRIPT) in POLICY and "'none'" in POLICY and "unsafe" not in POLICY


@pytest.fixture
def served():
    boards = [BOARD]

    def look():
        if not boards:
            raise DiscreetError("it has gone")
        return boards[0]

    server = make_server(look, 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()

    def token(path):
        return "" if "?" in path else f"?token={server.token}"

    def get(path, host=None):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        connection.request("GET", path + token(path), headers={"host": host or f"127.0.0.1:{server.server_port}"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    yield get, boards, server
    server.shutdown()
    server.server_close()


def test_only_this_machine_by_its_own_name(served):
    get, boards, server = served
    assert server.server_address[0] == "127.0.0.1"
    answer, text = get("/")
    assert answer.status == 200 and "it &amp; goes" in text and answer.headers["content-security-policy"] == POLICY
    assert json.loads(get("/status.json")[1]) == {"n": 1}
    assert json.loads(get("/board.json")[1])["line"] == "it & goes"
    assert get("/", "evil.example")[0].status == 403  # a foreign page whose name was bound to the loopback
    assert get("/other")[0].status == 404
    for path in ("/?token=", "/?", "/board.json?token=other", f"/status.json?token={server.token[:-1]}"):
        answer, text = get(path)  # another user of this machine, who has not seen the address
        assert answer.status == 403 and "is" not in text.replace(
            "this address lacks its token: use the one that was", ""
        )
    assert server.address == f"http://127.0.0.1:{server.server_port}/?token={server.token}" and len(server.token) == 32
    boards.clear()
    assert "it has gone" in get("/")[1] and json.loads(get("/status.json")[1]) == {"error": "it has gone"}
    with pytest.raises(DiscreetError, match="cannot listen"):
        make_server(lambda: BOARD, server.server_port)


def test_an_address_that_is_none_is_not_found(capsys):
    server = make_server(lambda: BOARD, 0)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
    connection.putrequest("GET", "http://[", skip_host=True)
    connection.putheader("host", f"127.0.0.1:{server.server_port}")
    connection.endheaders()
    assert connection.getresponse().status == 404
    connection.close()
    server.shutdown()
    server.server_close()
    assert "Traceback" not in capsys.readouterr().err
