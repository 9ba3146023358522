import http.client
import json

import pytest

from discreet.cli.explore import command
from discreet.errors import DiscreetError


def ask(served, method, path, *, body=b"", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", served.server.server_port, timeout=60)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, answer.headers, content


def test_whoever_lacks_the_token_gets_nothing(served):
    for method, path in (
        ("GET", "/api/progress"),
        ("GET", "/files/model.json"),
        ("POST", "/api/start"),
        ("POST", "/api/fit"),
    ):
        for headers in ({}, {"X_Token": "wrong"}, {"X_Token": served.token[:-1]}):
            assert ask(served, method, path, **headers)[0] == 403
    assert ask(served, "GET", f"/?token={served.token}")[0] == 200
    assert ask(served, "POST", "/api/start", body=b"{}", X_Token=served.token)[0] == 200


def test_the_code_of_the_browser_is_good_for_one_exchange(served):
    code = served.launch
    assert ask(served, "POST", "/api/launch", X_Launch="wrong")[0] == 403
    assert ask(served, "POST", "/api/launch", X_Launch=code, Origin="https://evil.example")[0] == 403
    status, _, content = ask(served, "POST", "/api/launch", X_Launch=code)
    assert status == 200 and json.loads(content) == {"token": served.token}
    assert ask(served, "POST", "/api/launch", X_Launch=code)[0] == 403
    assert code not in served.address


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"}, {"Host": "127.0.0.1:1"}, {"Origin": "https://evil.example"}, {"Origin": "null"},
        {"Sec_Fetch_Site": "cross-site"}, {"Sec_Fetch_Site": "same-site"},
    ],
)  # fmt: skip
def test_other_pages_are_refused_even_with_the_token(served, headers):
    assert ask(served, "POST", "/api/start", body=b"{}", X_Token=served.token, **headers)[0] == 403


def test_answers_forbid_what_the_page_does_not_need(served):
    _, headers, _ = ask(served, "GET", f"/?token={served.token}")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"] and "Access-Control-Allow-Origin" not in headers
    assert headers["Referrer-Policy"] == "no-referrer" and headers["Cache-Control"] == "no-store"


def test_only_documents_of_the_folder_are_served(served, tmp_path):
    (tmp_path / "secret.json").write_text("{}")
    served.work.folder.mkdir()
    (served.work.folder / "model.json").write_text("{}")
    (served.work.folder / "rows.account").write_text("private")
    (served.work.folder / "link.json").symlink_to(tmp_path / "secret.json")
    for name, status in (
        ("model.json", 200), ("rows.account", 404), ("link.json", 404), ("../secret.json", 404),
        ("..%2Fsecret.json", 404),
        ("none.json", 404),
    ):  # fmt: skip
        assert ask(served, "GET", f"/files/{name}", X_Token=served.token)[0] == status, name


def test_rows_are_kept_privately_and_deleted_at_the_end(served, rows):
    body = rows.read_bytes()
    status, _, content = ask(served, "POST", "/api/upload", body=body, X_Token=served.token, X_Name="my%20rows.csv")
    assert status == 200 and json.loads(content)["rows"] == "my rows.csv"
    held = served.work.rows
    assert held.read_bytes() == body and held.parent.stat().st_mode & 0o077 == 0
    served.server.shutdown()
    served.close()
    assert not held.exists()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/plan", b"{}", 400), ("/api/plan", b"[]", 400), ("/api/plan", b"{", 400), ("/api/none", b"{}", 422),
        ("/api/draft", b'{"target": "x"}', 422), ("/api/upload", b"", 413),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_answered(served, path, body, status):
    found, _, content = ask(served, "POST", path, body=body, X_Token=served.token)
    assert found == status and json.loads(content)["error"]


def test_a_file_that_is_no_table_is_refused(served):
    status, _, content = ask(served, "POST", "/api/upload", body=b"\x00\xff" * 50, X_Token=served.token)
    assert status == 422 and json.loads(content)["error"]
    assert served.work.rows is None


def test_the_command_serves_no_file_that_is_no_table(tmp_path):
    (tmp_path / "no.bin").write_bytes(b"\x00\x01\x02")
    (tmp_path / "none.csv").touch()
    for name, said in (("no.bin", "neither CSV"), ("none.csv", "is empty"), ("absent.csv", "there is no file")):
        with pytest.raises(DiscreetError, match=said):
            command(tmp_path / name, None, None, tmp_path / "out", 0, False, False)
    assert not (tmp_path / "out").exists()
