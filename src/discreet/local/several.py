"""Several campaigns of one server, as a file says: a table for each, under the name that its addresses begin with."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.local.campaign import Campaign
from discreet.local.serve import Hosted
from discreet.schema import Schema

ASKED = ("epsilon", "oracle", "numeric", "reports", "theta")
KINDS: dict[str, type | tuple[type, ...]] = {
    "campaign": str, "schema": str, "store": str, "page": bool, "title": str, "about": str, "max_bytes": int,
    "max_reports": int, "tokens": bool, "cors": list, "epsilon": (int, float), "oracle": str, "numeric": str,
    "reports": int, "theta": (int, float),
}  # fmt: skip


def load(path: str | os.PathLike[str]) -> tuple[dict[str, Hosted], str | None]:
    """The campaigns of a file, and the one that answers at the old addresses; paths are beside the file."""
    place = Path(path)
    try:
        fields = tomllib.loads(place.read_text("utf-8"))
    except OSError as error:
        raise DiscreetError(f"cannot read the campaigns {path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DiscreetError(f"{path} is no TOML file: {error}") from None
    root = fields.pop("root", None)
    if root is not None and not isinstance(root, str):
        raise DiscreetError(f"{path}: root must be the name of a campaign")
    if not fields:
        raise DiscreetError(f"{path} names no campaign: write [name] and below it campaign = ... and store = ...")
    stores: dict[Path, str] = {}
    hosted = {name: _hosted(place, name, table, stores) for name, table in fields.items()}
    return hosted, root


def _hosted(place: Path, name: str, table: Any, stores: dict[Path, str]) -> Hosted:
    if not isinstance(table, dict):
        raise DiscreetError(f"{place}: {name!r} is no table: write [{name}] and its settings below it")
    for key, value in table.items():
        if key not in KINDS:
            raise DiscreetError(f"{place}: [{name}] has no setting {key!r}: choose among {', '.join(KINDS)}")
        if not isinstance(value, KINDS[key]) or (isinstance(value, bool) and KINDS[key] is not bool):
            raise DiscreetError(f"{place}: {key!r} of [{name}] is of the wrong kind: {value!r}")
    if "store" not in table or ("campaign" in table) == ("schema" in table):
        raise DiscreetError(f"{place}: [{name}] needs a store, and either a campaign file or a schema")
    settings = {key: table[key] for key in ASKED if key in table}
    if "campaign" in table:
        if settings:
            raise DiscreetError(f"{place}: the campaign file of [{name}] says how to report: leave {[*settings]} out")
        campaign = Campaign.load(place.parent / table["campaign"])
    else:
        campaign = Campaign(Schema.load(place.parent / table["schema"]), settings.pop("epsilon", 1.0), **settings)
    store = (place.parent / table["store"]).resolve()
    if store in stores:
        raise DiscreetError(f"{place}: [{stores[store]}] and [{name}] name the same store: give each its own")
    stores[store] = name
    rest = {key: table[key] for key in ("page", "title", "about", "max_bytes", "max_reports", "tokens", "cors")
            if key in table}  # fmt: skip
    return Hosted(campaign, store, **rest)
