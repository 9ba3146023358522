"""The HTTP collector as a process of its own: killed while it is loaded, stopped politely, spoken to by TLS."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import json
import os
import shlex
import signal
import socket
import ssl
import statistics
import sys
import threading
import time
from pathlib import Path

import pytest

from discreet import Numeric, Schema
from discreet.local.campaign import Campaign
from discreet.local.collector import Collector
from tests.local.people import SCHEMA, report_list
from tests.local.servers import BYTES, Server
from tests.pages import blocks

pytest.importorskip("uvicorn", reason="the extra 'serve' is not installed")


@pytest.fixture
def folder(tmp_path):
    """Where a campaign waits for its server."""
    Campaign(SCHEMA, 1.0).save(tmp_path / "c.json")
    return tmp_path


def load(server: Server, batches: list[list[bytes]], acknowledged: list[int]) -> None:
    """Post batches until the server is gone; remember which were acknowledged."""
    connection = server.connect()
    with contextlib.suppress(OSError, http.client.HTTPException):
        for number, batch in enumerate(batches):
            connection.request("POST", "/reports", b"".join(batch), BYTES)
            answer = connection.getresponse()
            counts = json.loads(answer.read())
            if answer.status == 200:
                assert counts["accepted"] + counts["replayed"] == len(batch)
                acknowledged.append(number)
    connection.close()


def test_killed_under_load_every_acknowledged_report_counts_once(folder):
    """Three kills after some posts each; senders never know of the last post, so they post everything again."""
    reports = report_list(6000)
    shares = [reports[i::3] for i in range(3)]
    batches = [[share[i : i + 2] for i in range(0, len(share), 2)] for share in shares]
    done = [0, 0, 0]
    for posts in (1, 60, 200):
        server, kept = Server(folder), [[], [], []]
        threads = [threading.Thread(target=load, args=(server, batches[i][done[i] :], kept[i])) for i in range(3)]
        for thread in threads:
            thread.start()
        until = time.monotonic() + 300
        while sum(map(len, kept)) < posts and time.monotonic() < until:
            time.sleep(0.001)
        code, _ = server.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert code == -signal.SIGKILL
        done = [before + len(found) for before, found in zip(done, kept, strict=True)]
        with Collector.load(folder / "s.db") as after:  # what was acknowledged is there, and at most a post more
            acknowledged = 2 * sum(done)
            assert acknowledged <= after.accepted <= acknowledged + 3 * 2
    assert 0 < sum(done) < 3000, "the server must die in the midst of it"
    server = Server(folder)
    again = b"".join(one for i in range(3) for batch in batches[i][: done[i]] for one in batch)
    assert server.post(again)["replayed"] == 2 * sum(done)
    for i in range(0, 6000, 1500):
        counts = server.post(b"".join(reports[i : i + 1500]))
        assert counts["accepted"] + counts["replayed"] == 1500
    code, errors = server.end(signal.SIGTERM)
    assert code == 0 and "holds 6000 reports" in errors
    once = Collector(SCHEMA)
    once.add_batch(reports)
    with Collector.load(folder / "s.db") as after:
        assert after.accepted == 6000 and json.dumps(after.model().to_dict()) == json.dumps(once.model().to_dict())


def certificate(folder: Path) -> None:
    """A self-signed certificate for the loopback."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


def test_tls_a_polite_end_and_no_addresses_in_the_log(folder):
    certificate(folder)
    server = Server(folder, "--tls-cert", "cert.pem", "--tls-key", "key.pem")
    assert server.address.startswith("https://")
    trust = ssl.create_default_context(cafile=os.fspath(folder / "cert.pem"))
    with contextlib.closing(http.client.HTTPSConnection("localhost", server.port, context=trust)) as connection:
        connection.request("POST", "/reports", b"".join(report_list(10)), BYTES)
        assert json.loads(connection.getresponse().read())["accepted"] == 10
    code, errors = server.end(signal.SIGINT)
    assert code == 0 and "holds 10 reports" in errors and "127.0.0.1" not in errors
    assert "POST" not in errors


def test_the_page_is_followed(folder, discreet):
    """docs/local-privacy.md: a server, a device that reports to it, a model while it runs; and a server with TLS."""
    first, last = (
        block for block in blocks("local-privacy.md", "console") if "discreet local serve" in block
    )  # fmt: skip
    serve, send, model = (shlex.split(line[2:], comments=True) for line in first.splitlines())
    schema = Schema([Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100])], target="ill", classes=["no", "yes"])
    Campaign(schema, 1.0).save(folder / "campaign.json")
    (folder / "person.json").write_text('{"age": 34, "ill": "no"}')
    with Server(folder, what=tuple(serve[3:])) as server:
        words = [server.address if word == "http://localhost:8000" else word for word in send[1:]]
        done = discreet(*words, "--memory", folder / "memory", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert json.loads(server.get("/status")[2])["accepted"] == 1
        done = discreet(*model[1:], cwd=folder)
        assert done.returncode == 0 and (folder / "model.json").stat().st_size, done.stderr
    certificate(folder)
    words = shlex.split(last.replace("\\\n", " "))[4:]
    told = {"0.0.0.0": "127.0.0.1"}
    at = words.index("--port")
    with Server(folder, what=tuple(told.get(word, word) for word in [*words[:at], *words[at + 2 :]])) as server:
        assert server.address.startswith("https://")


def _cost(server: Server, posts: int, at: str) -> float:
    """The server's processor seconds for each post of a device that opens a connection every time."""
    frames, ticks = report_list(50), os.sysconf("SC_CLK_TCK")

    def used() -> float:
        fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / ticks

    before = used()
    for i in range(posts):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60, source_address=(at, 0))
        with contextlib.closing(connection):
            connection.request("POST", "/reports", frames[i % 50], BYTES)
            assert connection.getresponse().status == 200
    return (used() - before) / posts


@pytest.mark.slow
def test_honest_posts_keep_their_rate_beside_five_thousand_slow_connections(folder):
    """Half-sent heads from one address; most are cut off for later ones, and what is left costs others nothing.

    A rate is one by the server's processor seconds for a post: those do not hang on what else the machine does.
    """
    resource = pytest.importorskip("resource")
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 6000:
        pytest.skip("this process may not open so many files")
    server = Server(folder)
    held: list[socket.socket] = []
    alone, beside = [], []
    try:
        _cost(server, 300, "127.0.0.3")
        for _ in range(3):
            alone.append(_cost(server, 500, "127.0.0.3"))
            for _ in range(5000):
                one = socket.create_connection(("127.0.0.1", server.port), 60, source_address=("127.0.0.2", 0))
                with contextlib.suppress(OSError):
                    one.sendall(b"POST /reports HTTP/1.1\r\nx-slow: ")
                held.append(one)
            time.sleep(1)
            beside += [_cost(server, 250, at) for at in ("127.0.0.3", "127.0.0.2")]  # from the crowded address, too
            while held:
                held.pop().close()
            time.sleep(1)
        sys.stdout.write(f"seconds per post, alone {alone} and beside the crowd {beside}\n")
        assert statistics.median(beside) <= statistics.median(alone) / 0.9, (alone, beside)
    finally:
        for one in held:
            one.close()
        assert server.end(signal.SIGTERM)[0] == 0


def test_a_sender_that_breaks_off_leaves_no_traceback(folder):
    server = Server(folder)
    for _ in range(3):
        with contextlib.closing(socket.create_connection(("127.0.0.1", server.port), 60)) as one:
            one.sendall(b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/octet-stream\r\n"
                        b"content-length: 1000\r\n\r\nhalf")  # fmt: skip
            time.sleep(0.1)
    assert server.post(report_list(1)[0])["accepted"] == 1
    code, errors = server.end(signal.SIGTERM)
    assert code == 0 and "Traceback" not in errors and "Error" not in errors, errors
