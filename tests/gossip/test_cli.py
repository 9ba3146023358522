"""discreet gossip as a person uses it: keys, two nodes, status, model, and one-sentence errors."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from tests.gossip.common import SCHEMA, write_rows
from tests.ports import free_ports

pytest.importorskip("grpc")
from discreet.gossip.keys import make_keys

pytestmark = pytest.mark.usefixtures("one_tree")


def test_two_nodes_from_keys_to_model(tmp_path, discreet):
    SCHEMA.save(tmp_path / "s.toml")
    made = discreet("gossip", "keys", "--out", tmp_path / "keys", "--nodes", "a,b")
    assert made.returncode == 0, made.stderr
    ports = dict(zip("ab", free_ports(2), strict=True))
    peers = tmp_path / "peers.txt"
    peers.write_text("\n".join(f"{name}=127.0.0.1:{port}" for name, port in ports.items()) + "\n")
    script, lives = Path(sys.executable).with_name("discreet"), []
    for i, name in enumerate("ab"):
        write_rows(tmp_path / f"{name}.csv", 60, i)
        argv = [script, "gossip", "node", "--name", name, "--listen", f"127.0.0.1:{ports[name]}", "--peers",
                f"@{peers}", "--data", tmp_path / f"{name}.csv", "--schema", tmp_path / "s.toml", "--keys",
                tmp_path / "keys", "--state", tmp_path / name, "--out", tmp_path / f"{name}.json", "--epsilon", "1",
                "--beat", "0.05", "--wait", "300", "--linger", "20", "--json"]  # fmt: skip
        lives.append(subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, text=True, env={**os.environ}))
    outs = [life.communicate(timeout=330)[0] for life in lives]
    assert [life.returncode for life in lives] == [0, 0]
    assert json.loads(outs[0])["members"] == 2
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    shown = discreet("gossip", "status", "--state", tmp_path / "a", "--json")
    assert json.loads(shown.stdout)["settled"] == 2
    again = discreet("gossip", "model", "--state", tmp_path / "a", "--schema", tmp_path / "s.toml", "--out",
                     tmp_path / "again.json")  # fmt: skip
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "a.json").read_bytes()
    held = json.loads((tmp_path / "a.json").read_text())["certificate"]
    assert held["epsilon"] == "1" and "peers" in held["covers"]


def test_a_signal_to_stop_waits_for_the_step_under_way(tmp_path, monkeypatch, capsys):
    import discreet.gossip.node
    from discreet.cli import main

    class Stopped(discreet.gossip.node.GossipNode):
        async def run(self):
            os.kill(os.getpid(), signal.SIGTERM)
            steps.append("whole")
            await asyncio.sleep(20)

    steps: list[str] = []
    monkeypatch.setattr(discreet.gossip.node, "GossipNode", Stopped)
    make_keys(tmp_path / "keys", ["a", "b"])
    SCHEMA.save(tmp_path / "s.toml")
    write_rows(tmp_path / "a.csv", 9, 0)
    argv = ["node", "--name", "a", "--listen", "127.0.0.1:9", "--peers", "b=127.0.0.1:8", "--data", tmp_path / "a.csv",
            "--schema", tmp_path / "s.toml", "--keys", tmp_path / "keys", "--state", tmp_path / "a", "--out",
            tmp_path / "m.json", "--epsilon", "1"]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["discreet", "gossip", *map(str, argv)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 130 and steps == ["whole"] and "goes on from here" in capsys.readouterr().err


def test_documented_commands_and_options_exist():
    from discreet.cli import app

    text = (Path(__file__).resolve().parents[2] / "docs" / "gossip.md").read_text()
    lines = text.replace("\\\n", " ")
    documented = [shlex.split(line) for line in lines.splitlines() if line.startswith("discreet gossip")]
    gossip = typer.main.get_command(app).commands["gossip"].commands
    assert {words[2] for words in documented} == set(gossip)
    for words in documented:
        known = {option for one in gossip[words[2]].params for option in (*one.opts, *one.secondary_opts)}
        assert {word for word in words if word.startswith("--")} <= known, words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["keys", "--nodes", "a"], "--out DIR"),
        (["keys", "--nodes", "A B", "--out", "k"], "small letters"),
        (["invite", "--nodes", "A B", "--address", "h:1", "--schema", "s.toml", "--epsilon", "1"], "small letters"),
        (["invite", "--nodes", "a,b", "--address", "h", "--schema", "s.toml", "--epsilon", "1"], "HOST:PORT"),
        (["invite", "--nodes", "a,b", "--address", "h:1", "--schema", "s.toml", "--epsilon", "inf"], "finite epsilon"),
        (["invite", "--nodes", "a,a", "--address", "h:1", "--schema", "s.toml", "--epsilon", "1"], "a name of its own"),
        (["join", "absent.invite", "--data", "rows.csv", "--listen", "127.0.0.1:9"], "cannot read the invite"),
        (["join", "s.toml", "--data", "rows.csv", "--listen", "127.0.0.1:9"], "no invite"),
        (["join", "s.toml", "--data", "rows.csv", "--listen", "0.0.0.0:9"], "--advertise"),
        (["admit", "--home", ".", "--listen", "127.0.0.1:9"], "no key file"),
        (["revoke", "a", "--home", "."], "no key file"),
        (["status"], "--state DIR"),
        (["status", "--state", "."], "no state"),
        (["status", "--address", "h:1"], "--node"),
        (["leave", "--name", "a", "--address", "h:1", "--keys", "."], "no key file"),
        (["node", "--peers", "b"], "NAME=HOST:PORT"),
        (["node", "--peers", "b=h"], "HOST:PORT"),
        (["node", "--peers", "@nowhere"], "cannot read"),
        (["node", "--peers", "a=h:1"], "one peer at least"),
        (["node", "--peers", "b=h:1", "--data", "nothing.csv"], "no file"),
        (["node", "--peers", "b=h:1"], "no key file"),
        (["node", "--peers", "b=h:1", "--round", ""], "no name for a round"),
        (["node", "--peers", "b=h:1", "--smoothing", "-1"], "smoothing must be"),
        (["node", "--peers", "b=h:1", "--smoothing", "nan"], "smoothing must be"),
        (["node", "--peers", "b=h:1", "--wait", "nan"], "wait must be"),
        (["node", "--peers", "b=h:1", "--beat", "nan"], "beat must be"),
        (["node", "--peers", "b=h:1", "--tolerance", "nan"], "tolerance must be"),
        (["node", "--peers", "b=h:1", "--linger", "-1"], "linger must be"),
        (["node", "--peers", "b=h:1", "--listen", "0.0.0.0:9"], "--advertise"),
        (["node", "--peers", "b=h:1", "--listen", "[::]:9"], "--advertise"),
    ],
)
def test_errors_are_one_sentence(tmp_path, arguments, message, monkeypatch, capsys):
    from discreet.cli import main

    monkeypatch.chdir(tmp_path)
    SCHEMA.save("s.toml")
    write_rows(tmp_path / "rows.csv", 9, 0)
    if arguments[0] == "node":
        defaults = {"--data": "rows.csv", "--name": "a", "--listen": "127.0.0.1:9", "--state": "st", "--keys": "k",
                    "--epsilon": "1", "--out": "m.json", "--schema": "s.toml"}  # fmt: skip
        arguments = [*arguments, *(x for k, v in defaults.items() if k not in arguments for x in (k, v))]
    monkeypatch.setattr(sys, "argv", ["discreet", "gossip", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    error = capsys.readouterr().err
    assert end.value.code == 2
    assert message in error and error.count("\n") == 1
    assert not (tmp_path / "st").exists()
