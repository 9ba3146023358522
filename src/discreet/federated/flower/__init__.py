"""Federated Naive Bayes on Flower: the apps, and commands around them so that nobody has to know the engine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# What Flower would otherwise send or fetch by itself. It reads most of these when it is imported.
QUIET = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "FLWR_TRACING_ENABLED": "0",
    "FLWR_OIDC_ENABLED": "0",
    "FLWR_ENABLE_EVENT_LOG": "0",
    "FLWR_INTERNAL_GRPC_CONTROL_API": "0",
    "FLWR_INTERNAL_GRPC_FLEET_API": "0",
}


def need_flower() -> None:
    """Raise the sentence that says how to install Flower, if it is not there."""
    from importlib.util import find_spec

    from discreet.errors import DiscreetError

    if any(name in sys.modules and sys.modules[name] is None for name in ("flwr", "cryptography")) or not all(
        find_spec(name) for name in ("flwr", "cryptography")
    ):
        raise DiscreetError("federated training needs Flower: install it by pip install 'discreet[federated]'")


def keep_quiet(home: str | os.PathLike[str]) -> None:
    """Switch off all that Flower does beside the work, and give it a directory of our own. Before importing it."""
    need_flower()
    os.environ.update(QUIET)
    os.environ["FLWR_HOME"] = str(Path(home).resolve())
    import logging

    from flwr.supercore import telemetry

    if telemetry.FLWR_TELEMETRY_ENABLED != "0":  # it was imported before us
        telemetry.FLWR_TELEMETRY_ENABLED = "0"
    logging.getLogger("flwr").setLevel(os.environ.get("DISCREET_FLOWER_LOG", "CRITICAL"))
