"""The app as Flower wants it: a small directory that names our ServerApp and ClientApp, and its bundle."""

from __future__ import annotations

import hashlib
from importlib.metadata import version
from pathlib import Path

import tomli_w

from discreet.errors import DiscreetError
from discreet.federated.flower.task import RoundTask
from discreet.files import write_text

README = """# Federated Naive Bayes

This app runs on nodes and a coordinator that have `discreet[federated]` installed. Start each SuperNode with

    --node-config 'name="a" data="/path/rows.parquet" schema="/path/schema.toml" epsilon=1.0 ledger="/path/ledger"'

and run it with

    flwr run . --run-config 'schema="/path/schema.toml" out="/path/model.json" nodes=3'
"""


def files() -> dict[str, str]:
    """The files of the app; it says nothing of any federation, because every node gets to see it."""
    released = version("discreet")
    project = {
        "project": {
            "name": "discreet-federated",
            "version": released,
            "description": "Federated Naive Bayes with differential privacy.",
            "license": "Apache-2.0",
            "dependencies": ["flwr>=1.41,<1.42", f"discreet[federated]>={released}"],
        },
        "tool": {
            "flwr": {
                "app": {
                    "publisher": "discreet",
                    "components": {
                        "serverapp": "discreet_federated.server_app:app",
                        "clientapp": "discreet_federated.client_app:app",
                    },
                    "config": RoundTask(schema="schema.toml", out="model.json", nodes=2).config(),
                }
            }
        },
    }
    side = (
        '"""The {} of federated Naive Bayes."""\n\nfrom discreet.federated.flower.{} import app\n\n__all__ = ["app"]\n'
    )
    return {
        "pyproject.toml": tomli_w.dumps(project),
        "README.md": README,
        "discreet_federated/__init__.py": '"""Federated Naive Bayes as a Flower app."""\n',
        "discreet_federated/server_app.py": side.format("ServerApp", "server"),
        "discreet_federated/client_app.py": side.format("ClientApp", "client"),
    }


def write_app(out: Path) -> None:
    """Write the app's directory for `flwr run`; an existing one is not touched."""
    if out.exists():
        raise DiscreetError(f"{out} is there already: choose another --out")
    for name, text in files().items():
        path = out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)


def bundle() -> tuple[bytes, str]:
    """The app as Flower ships it, and its fingerprint."""
    from flwr.cli.build import build_fab_from_files

    content, _ = build_fab_from_files({name: text.encode() for name, text in files().items()})
    return content, hashlib.sha256(content).hexdigest()
