"""The aggregate on disk: one JSON file, written whole or not at all, checked again when it is read."""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, StatisticsError
from discreet.federated.aggregate import Aggregate, Member
from discreet.federated.update import Settings, Update, node_plan
from discreet.files import parse_json, write_text
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.schema import Schema

FORMAT = "discreet/federated-aggregate"
VERSION = 1


def save(aggregate: Aggregate, path: str | os.PathLike[str]) -> None:
    """Write the kept updates, or the running sums where updates are not kept."""
    fields: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "schema": aggregate.schema.to_dict(),
        "keep": aggregate.keep,
        "weighting": aggregate.weighting,
        "cutoff": aggregate.cutoff,
        "overlap": aggregate.overlap,
        "most_rows": aggregate.most_rows,
        "robust": aggregate.robust,
        "settings": None if aggregate.settings is None else _settings_out(aggregate.settings),
    }
    if aggregate.keep:
        fields["updates"] = [base64.b64encode(update.to_bytes()).decode() for update in aggregate.updates.values()]
    else:
        fields["members"] = [_member_out(member) for member in aggregate.members.values()]
        fields["sums"] = [[kind, name, sums.tolist()] for (kind, name), sums in aggregate.sums.items()]
    write_text(path, json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n", private=True)


def load(path: str | os.PathLike[str]) -> Aggregate:
    """Read a state file; a damaged or foreign one is an error of one sentence."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise StatisticsError(f"cannot read the federated state {path}: {error.strerror or error}") from None
    try:
        fields = parse_json(raw)
        if not isinstance(fields, dict) or fields.get("format") != FORMAT or fields.get("version") != VERSION:
            raise StatisticsError(f"{path} is no federated state of version {VERSION}")
        return _rebuilt(fields)
    except StatisticsError:
        raise
    except (DiscreetError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise StatisticsError(f"{path} is a damaged federated state: {error}") from None


def _rebuilt(fields: dict[str, Any]) -> Aggregate:
    options = {key: fields[key] for key in ("keep", "weighting", "cutoff", "overlap", "most_rows", "robust")}
    settings = None if fields["settings"] is None else _settings_in(fields["settings"])
    result = Aggregate(Schema.from_dict(fields["schema"]), settings=settings, **options)
    if result.keep:
        for text in fields["updates"]:
            result.add(Update.from_bytes(base64.b64decode(text, validate=True)))
        return result
    members = [_member_in(record) for record in fields["members"]]
    result.members = {member.node: member for member in members}
    result.counted = Counter((m.budget, m.mechanism) for m in members if result.counts(m))
    result.sums = {(kind, name): np.array(rows, dtype=np.int64) for kind, name, rows in fields["sums"]}
    if members and settings is None:
        raise ValueError("it has nodes but no settings")
    for budget, mechanism in result.counted:
        assert settings is not None
        plan = node_plan(result.schema, settings, budget, mechanism)
        shapes = {item.key: (len(result.schema.classes), item.cells) for item in plan.items}
        if shapes != {key: sums.shape for key, sums in result.sums.items()}:
            raise ValueError("its sums do not fit its settings")
    return result


def _settings_out(settings: Settings) -> dict[str, Any]:
    split = settings.split if isinstance(settings.split, str) else {name: str(share) for name, share in settings.split}
    return {
        "adjacency": str(settings.adjacency),
        "numeric": settings.numeric,
        "split": split,
        "contributions": settings.contributions,
    }


def _settings_in(fields: dict[str, Any]) -> Settings:
    settings = Settings.of(**fields)
    return Settings(Adjacency(settings.adjacency), settings.numeric, settings.split, settings.contributions)


def _member_out(member: Member) -> dict[str, Any]:
    budget = member.budget
    return {
        **{key: value for key, value in vars(member).items() if key != "budget"},
        "epsilon": None if budget.epsilon is None else str(budget.epsilon),
        "delta": str(budget.delta),
        "rho": None if budget.rho is None else str(budget.rho),
    }


def _member_in(fields: dict[str, Any]) -> Member:
    fields = dict(fields)
    epsilon, delta, rho = (fields.pop(key) for key in ("epsilon", "delta", "rho"))
    if rho is not None:
        budget = Budget(rho=number(rho, "rho"))
    else:
        budget = Budget(float("inf") if epsilon is None else number(epsilon, "epsilon"), number(delta, "delta"))
    return Member(budget=budget, **fields)
