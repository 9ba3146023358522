"""The app as people who know Flower run it: flower-superlink, flower-supernode and flwr run, with nothing of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from discreet import Schema, demo
from discreet.bayes.model import NaiveBayesModel
from discreet.federated.flower import QUIET
from discreet.federated.flower.bundle import bundle, files, write_app
from tests.federated.flower.federation import Federation
from tests.ports import free_ports


def test_the_bundle_is_the_same_everywhere_and_names_no_place(tmp_path):
    from flwr.cli.config_utils import load_and_validate

    assert bundle() == bundle()
    write_app(tmp_path / "app")
    config, warnings = load_and_validate(tmp_path / "app" / "pyproject.toml")
    assert not warnings and config["tool"]["flwr"]["app"]["components"]["clientapp"].endswith(":app")
    assert str(tmp_path) not in "".join(files().values())
    with pytest.raises(Exception, match="there already"):
        write_app(tmp_path / "app")


@pytest.mark.skipif("DISCREET_SLOW" not in os.environ, reason="slow: run it by 'make deployment'")
def test_flwr_run(tmp_path):
    import numpy as np
    import pyarrow as pa

    federation = Federation(tmp_path, ("a", "b"))
    model = demo.adult()
    federation.write_shards(pa.table(model.sample(2000, rng=np.random.default_rng(3))), model.schema)
    write_app(tmp_path / "app")
    binaries = Path(sys.executable).parent
    home = tmp_path / "home"
    address = f"127.0.0.1:{federation.port}"
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "here"\n\n[superlink.here]\naddress = "{address}"\ninsecure = true\n'
    )
    federation.env |= {**QUIET, "FLWR_HOME": str(home), "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}

    def start(command, *arguments, log):
        with open(tmp_path / f"{log}.log", "a") as out:
            child = subprocess.Popen(
                [str(binaries / command), *arguments], cwd=tmp_path, env=federation.env, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True, text=True,
            )  # fmt: skip
        federation.running.append(child)
        return child

    try:
        start(
            "flower-superlink", "--insecure", "--host", "127.0.0.1", "--port", str(federation.port), "--database",
            "link.sqlite", "--disable-runtime-dependency-installation", log="superlink",
        )  # fmt: skip
        for name in federation.names:
            settings = {"name": name, "data": f"{name}.parquet", "schema": "schema.toml", "ledger": f"{name}.ledger"}
            config = " ".join(
                f'{key}="{tmp_path / value if key != "name" else value}"' for key, value in settings.items()
            )
            start(
                "flower-supernode", "--insecure", "--superlink", address, "--port", str(*free_ports(1)),
                "--node-config", f"{config} epsilon=1.0", log=name,
            )  # fmt: skip
        federation.until(lambda: federation.log("superlink").count("Activated node_id") >= 2, 300)
        run = start(
            "flwr", "run", "app", "--run-config",
            f'schema="{tmp_path / "schema.toml"}" out="{tmp_path / "model.json"}" nodes=2', log="run",
        )  # fmt: skip
        assert federation.finish(run, 300) == 0, federation.logs()
        federation.until((tmp_path / "model.json").exists, 300)
        released = NaiveBayesModel.load(tmp_path / "model.json")
        assert released.certificate.epsilon == "1" and released.schema == Schema.load(tmp_path / "schema.toml")
        assert all(len(federation.entries(name)) == 1 for name in federation.names)
        assert not [line for line in federation.guard.read_text().splitlines() if line != "guarded"]
    finally:
        federation.close()
