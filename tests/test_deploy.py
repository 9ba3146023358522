"""deploy/: container files, compose files, units and the proxy say what exists here, and their commands run."""

from __future__ import annotations

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest
import typer

from discreet.cli import app, main
from discreet.cli.config import Configured, read_config
from tests.gossip.common import SCHEMA, write_rows
from tests.ports import free_ports

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "deploy"
EXTRAS = {"collector": "serve", "federation": "federated", "gossip": "gossip"}
KINDS = tuple(EXTRAS)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
UNITS = sorted(DEPLOY.glob("*/*.service"))
PLACES = ("/var/lib/discreet", "/etc/discreet", "/run/secrets", "/srv/rows")


def command_of(words):
    """The command of ours that a line of words calls, and the rest of the line."""
    found = typer.main.get_command(app)
    while words and words[0] in getattr(found, "commands", {}):
        found, words = found.commands[words[0]], words[1:]
    return found, words


# ---- container files


def steps(path):
    """The instructions of a container file: name and words."""
    text = re.sub(r"\\\n", " ", path.read_text())
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip() and not line.startswith("#")]


def test_the_container_file_builds_on_what_is_here():
    found = steps(DEPLOY / "Containerfile")
    stages, user = set(), ""
    for name, words in found:
        assert name in {"FROM", "ARG", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "ENTRYPOINT"}
        if name == "FROM":
            image, *more = words.split()
            assert re.fullmatch(r"[a-z/]+:\d[\w.-]+", image), "a base image is pinned by its name"
            stages |= set(more[1:])
            user = ""
        elif name == "USER":
            user = words
        elif name == "COPY":
            sources = words.split()
            if sources[0].startswith("--from="):
                assert sources[0].removeprefix("--from=") in stages
            else:
                assert all((ROOT / source).exists() for source in sources[:-1]), words
        elif name == "RUN":
            assert not re.search(r"curl|wget|sudo|chmod 777", words)
        elif name == "ENTRYPOINT":
            assert json.loads(words) == ["discreet"] and "discreet" in PROJECT["scripts"]
    assert user.isdigit() and int(user) > 0, "it does not run as root"
    (installed,) = [words for name, words in found if name == "RUN" and "pip install" in words]
    assert "-c constraints.txt" in installed and '".[${EXTRA:?' in installed, "an image without an extra is refused"
    asked = re.findall(r"--build-arg EXTRA=(\w+)", (DEPLOY / "Containerfile").read_text())
    assert len(asked) == len(KINDS) and set(asked) <= set(PROJECT["optional-dependencies"])
    exposed = {int(port) for name, words in found if name == "EXPOSE" for port in words.split()}
    assert exposed == {8000, 8700, 8701}


# ---- compose files and units: what they call


def services(kind):
    return yaml.safe_load((DEPLOY / kind / "compose.yaml").read_text())


@pytest.mark.parametrize("kind", KINDS)
def test_compose_files_hang_together(kind):
    whole = services(kind)
    assert set(whole) <= {"services", "volumes", "secrets"}
    for name, one in whole["services"].items():
        if "build" in one:
            assert (DEPLOY / kind / one["build"]["context"] / one["build"]["dockerfile"]).is_file()
            assert one["build"]["args"]["EXTRA"] == EXTRAS[kind] and EXTRAS[kind] in PROJECT["optional-dependencies"]
            assert one["cap_drop"] == ["ALL"] and one["read_only"] is True
            called, _ = command_of(one["command"])
            assert isinstance(called, Configured), name
            if "healthcheck" in one:
                asked, rest = command_of(one["healthcheck"]["test"][2:])
                assert one["healthcheck"]["test"][:2] == ["CMD", "discreet"]
                assert {word for word in rest if word.startswith("--")} <= {o for p in asked.params for o in p.opts}
        else:
            assert re.fullmatch(r"[a-z]+:\d[\w.-]+", one["image"])
        for volume in one.get("volumes", []):
            source, target, *mode = volume.split(":")
            assert target.startswith("/") and (
                (source.startswith("./") and mode == ["ro"]) or source in whole["volumes"]
            )
        assert set(one.get("secrets", [])) <= set(whole.get("secrets", {}))
        assert set(one.get("depends_on", [])) <= set(whole["services"])


def lines():
    """Every command of ours in a compose file or a unit."""
    for kind in KINDS:
        for name, one in services(kind)["services"].items():
            if "command" in one:
                yield pytest.param(one["command"], id=f"{kind} {name}")
    for path in UNITS:
        (line,) = re.findall(r"^ExecStart=/opt/discreet/bin/discreet (.*)$", path.read_text(), re.MULTILINE)
        (before,) = re.findall(r"^ExecStartPre=/opt/discreet/bin/discreet (.*)$", path.read_text(), re.MULTILINE)
        assert before == f"{line} --check-config"
        yield pytest.param(shlex.split(line), id=path.stem)


def run(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["discreet", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr().err


@pytest.fixture
def machine(tmp_path, monkeypatch, capsys):
    """Places as the deployments have them, below a temporary directory: homes of every party, rows and a campaign."""
    from discreet.federated.flower import enrolment as federated
    from discreet.gossip import enrolment as gossip
    from discreet.local.campaign import Campaign

    def at(text):
        for place in PLACES:
            text = text.replace(place, f"{tmp_path}{place}")
        return text

    for place in PLACES:
        (tmp_path / place[1:]).mkdir(parents=True)
    lib, etc = tmp_path / "var/lib/discreet", tmp_path / "etc/discreet"
    SCHEMA.save(etc / "schema.toml")
    Campaign(SCHEMA, 1.0).save(etc / "campaign.json")
    write_rows(tmp_path / "srv/rows/rows.parquet", 9, 0)
    write_rows(tmp_path / "srv/rows/x.csv", 9, 0)
    for kind, home, names, more in (
        ("federate", "federation", "a,b,c", ["--secure"]), ("gossip", "network", "north,south,west", []),
    ):  # fmt: skip
        code, error = run(
            monkeypatch, capsys, kind, "invite", "--home", lib / home, "--nodes", names, "--address", "h.example:8700",
            "--schema", etc / "schema.toml", "--epsilon", 1, *more,
        )  # fmt: skip
        assert code == 0, error
    for room, home, name in ((federated, "federation", "a"), (gossip, "network", "north")):
        shutil.copytree(lib / home / "keys", lib / name / "keys")
        SCHEMA.save(lib / name / "schema.json")
        key = room.node_key(lib / name, name)
        if room is gossip:
            from discreet.gossip.keys import NetworkKeys, admit

            issued = admit(lib / home / "keys", name, key.public_key())
            NetworkKeys(lib / name / "keys").certificate(name).write_bytes(issued.read_bytes())
    for path in DEPLOY.glob("*/*.toml"):
        text = path.read_text().replace("*.parquet", "x.csv")
        (etc / path.name).write_text(at(text))
        (etc / f"{path.parent.name}-{path.name}").write_text(at(text))
    return at, tmp_path


@pytest.mark.parametrize("words", list(lines()))
def test_every_command_stands_its_own_check(machine, monkeypatch, capsys, words, request):
    at, place = machine
    kind = "gossip" if words[0] == "gossip" else "federation"
    for name in ("node.toml",):
        shutil.copy(place / f"etc/discreet/{kind}-{name}", place / f"etc/discreet/{name}")
    invited = {"federate": "federation/a", "gossip": "network/north"}.get(words[0])
    if "join" in words:
        shutil.copy(place / f"var/lib/discreet/{invited}.invite", place / "run/secrets/invite")
    code, error = run(monkeypatch, capsys, *[at(word) for word in words], "--check-config")
    assert code == 0 and "is good" in error, error


@pytest.mark.parametrize("path", sorted(DEPLOY.glob("*/*.toml")), ids=lambda path: f"{path.parent.name} {path.name}")
def test_example_files_have_known_keys_and_name_their_command(path):
    words = shlex.split(path.read_text().splitlines()[0].removeprefix("# discreet ").partition(" --config")[0])
    command, rest = command_of(words)
    _, wrong = read_config(command, path)
    assert not wrong and not rest


# ---- units and the proxy, as far as the machine can tell


def test_units_are_verified(tmp_path):
    verify = shutil.which("systemd-analyze")
    for path in UNITS:
        text = path.read_text().replace("/opt/discreet/bin/discreet", shutil.which("true") or "/bin/true")
        (tmp_path / path.name).write_text(text)
    if verify is not None:
        told = subprocess.run([verify, "verify", *map(str, sorted(tmp_path.glob("*.service")))], capture_output=True,
                              text=True, timeout=120)  # fmt: skip
        if "Failed to" not in told.stderr:  # it needs more of a running system than some machines have
            assert told.returncode == 0 and not told.stderr, told.stderr
    for path in UNITS:
        parsed = configparser.ConfigParser(strict=True, interpolation=None)
        parsed.optionxform = str  # type: ignore[assignment]
        parsed.read(path)
        assert set(parsed) == {"DEFAULT", "Unit", "Service", "Install"}
        assert parsed["Service"]["NoNewPrivileges"] == "yes" and "User=root" not in path.read_text()


def test_the_proxy_is_one_that_nginx_takes(tmp_path):
    text = (DEPLOY / "collector" / "nginx.conf").read_text()
    assert text.count("{") == text.count("}")
    for line in text.splitlines():
        bare = line.partition("#")[0].strip()
        assert not bare or bare[-1] in ";{}", line
    (port,) = re.findall(r"server collector:(\d+);", text)
    assert tomllib.loads((DEPLOY / "collector" / "collector.toml").read_text())["port"] == int(port)
    listens = services("collector")["services"]["proxy"]["ports"][0].partition(":")[2]
    assert f"listen {listens} ssl;" in text and "access_log off;" in text
    nginx = shutil.which("nginx")
    if nginx is None:
        pytest.skip("nginx is not installed: its own test of the file was not run")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=h", "-keyout",
                    tmp_path / "privkey.pem", "-out", tmp_path / "fullchain.pem"], check=True)  # fmt: skip
    local = text.replace("/etc/nginx/", f"{tmp_path}/").replace("collector:8000", "127.0.0.1:8000")
    (tmp_path / "nginx.conf").write_text(local)
    told = subprocess.run([nginx, "-t", "-c", tmp_path / "nginx.conf"], capture_output=True, text=True, timeout=60)
    assert told.returncode == 0, told.stderr


def test_the_collectors_command_runs_and_its_dashboard_sees_it(machine, monkeypatch, capsys):
    at, place = machine
    (port,) = free_ports(1)
    file = place / "etc/discreet/collector.toml"
    file.write_text(file.read_text().replace("port = 8000", f"port = {port}").replace("0.0.0.0", "127.0.0.1"))
    words = [at(word) for word in services("collector")["services"]["collector"]["command"]]
    process = subprocess.Popen([sys.executable, "-m", "discreet", *words], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # fmt: skip
    try:
        assert f"http://127.0.0.1:{port}" in process.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as answer:
            assert answer.status == 200
        monkeypatch.setattr(sys, "argv", ["discreet", "local", "status", f"http://127.0.0.1:{port}", "--json"])
        with pytest.raises(SystemExit) as end:
            main()
        shown = json.loads(capsys.readouterr().out)
        assert end.value.code == 0 and shown["healthy"] and shown["campaigns"][0]["accepted"] == 0
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


def test_the_page_names_commands_options_keys_and_files_that_exist(tmp_path):
    text = (ROOT / "docs" / "deployment.md").read_text()
    fences = text.split("\n```")[1::2]
    (keys,) = (one.removeprefix("toml") for one in fences if one.startswith("toml"))
    (tmp_path / "c.toml").write_text(keys)
    serve, _ = command_of(["local", "serve"])
    assert read_config(serve, tmp_path / "c.toml")[1] == {}
    for line in "\n".join(one for one in fences if not one.startswith("toml")).splitlines():
        words = shlex.split(line)
        if words[:1] == ["discreet"]:
            command, rest = command_of(words[1:])
            known = {option for parameter in command.params for option in parameter.opts}
            assert {word for word in rest if word.startswith("--")} <= known, line
        assert all((ROOT / word).exists() for word in words if word.startswith("deploy/")), line
        if "--profile" in words:
            kind, profile = words[words.index("-f") + 1].split("/")[1], words[words.index("--profile") + 1]
            assert any(profile in one.get("profiles", []) for one in services(kind)["services"].values())
    for name in re.findall(r"`(discreet-[a-z]+)`", text):
        assert list(DEPLOY.glob(f"*/{name}.service")), name
