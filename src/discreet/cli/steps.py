"""discreet fit --stream, --state: one step of a stream, the first or another."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.cli.common import check_data, estimator, load_schema
from discreet.cli.options import SETTINGS
from discreet.cli.paying import absorbing, charged, tell_uncharged
from discreet.errors import BudgetError


def stepped(
    rows: Any, schema: Path | None, settings: dict[str, Any], paying: Mapping[str, Any], *, stream: int | None,
    state: Path | None, step: int | None, seed: int | None, quiet: bool,
) -> Any:  # fmt: skip
    """The estimator after one step: of a new stream if `stream` says how long, else of the one that is there."""
    if state is None:
        raise BudgetError("a stream is kept between its steps: say where by --state FILE, which only you can read")
    if stream is not None:
        if state.exists():
            raise BudgetError(f"{state} is a stream that has begun: go on with it by --state alone, without --stream")
        _check_step(step, 1)
        settings["model"] = settings["model"] or "naive-bayes"
        public = load_schema(schema)
        made = estimator(settings, public, seed)
        if "stream" not in made.get_params():
            raise BudgetError("a stream is one of Naive Bayes: leave --model out, or use --model naive-bayes")
        made.set_params(stream=stream, state=os.fspath(state)).plan()
        with charged(rows, public, paying, "discreet fit --stream", settings["unexpected"], quiet=quiet) as job:
            return made.partial_fit(rows, account=job["account"])
    for name, (_, usual) in SETTINGS.items():
        if settings[name] != usual and not (name == "model" and settings[name] in {"naive-bayes", "nb"}):
            raise BudgetError(f"a stream goes on with the settings of its first step: leave --{name} out")
    if seed is not None or paying["account"] is not None:
        raise BudgetError("a stream was charged and seeded with its first step: leave --account and --seed out")
    from discreet.bayes import PrivateNB

    made = PrivateNB.resume(state)
    _check_step(step, getattr(made, "step_", 0) + 1)
    if schema is not None and load_schema(schema).hash != made.schema.hash:
        raise BudgetError(f"{schema} is another schema than that of {state}: leave --schema out")
    check_data(rows, made.schema)
    tell_uncharged(rows)
    with absorbing(made.unexpected):
        return made.partial_fit(rows)


def _check_step(asked: int | None, next_one: int) -> None:
    if asked is not None and asked != next_one:
        raise BudgetError(
            f"the next step of this stream is {next_one}, not {asked}: a step that was taken must not be taken again, "
            "as its rows would be counted twice"
        )
