"""Work: what the explorer's page asks for, one step at a time; it spends nothing before it is told to."""

from __future__ import annotations

import math
import shlex
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.dossier import QUESTIONS, Answers, make_dossier
from discreet.dossier.facts import Facts
from discreet.errors import DataError, DiscreetError, SchemaError
from discreet.explorer.shapes import drawn
from discreet.files import write_text
from discreet.kinds import find, names
from discreet.privacy import Account, Budget
from discreet.schema import Categorical, Schema
from discreet.simulation import curve, odds

HELD = 0.2  # share of rows that a fit is measured on, if it is to be measured


class Work:
    """One person's way from rows to a model; `folder` gets what is released, `rows` stay where they are."""

    def __init__(self, folder: Path, rows: Path | None = None, schema: str = "", account: Path | None = None) -> None:
        self.folder, self.rows, self.schema_text, self.account = folder, rows, schema, account
        self.shown = None if rows is None else rows.name
        self.model: Any = None
        self.progress: tuple[int, int | None] | None = None
        self._one = threading.Lock()  # one fit at a time: each of them is a charge
        self._drafted = self._declared = ""
        self._given = rows is not None  # by name: its account lies beside it

    def start(self) -> dict[str, Any]:
        """What is known when the page opens."""
        return {
            "rows": self.shown,
            "schema": self.schema_text,
            "account": None if self.account is None else str(self.account),
            "folder": str(self.folder),
            "models": names(),
            "questions": [
                {"key": one.key, "words": one.words, "choices": list(one.choices), "kind": one.kind.__name__,
                 "optional": one.optional}
                for one in QUESTIONS
            ],
        }  # fmt: skip

    # ---- rows and schema

    def take(self, path: Path, name: str) -> dict[str, Any]:
        """Rows that were dropped on the page; its columns come back."""
        if self._one.locked():
            raise DiscreetError("a fit is under way: wait for it")
        self.rows, self.shown, self.account, self._given = path, name, None, False
        return {"rows": name, "columns": self.columns()["columns"]}

    def demo(self, path: Path) -> dict[str, Any]:
        """Rows that nobody stands behind, to try it all on."""
        from discreet.demo import write_rows

        write_rows(path, 10_000, 1)
        return self.take(path, "demonstration rows") | {"target": "income"}

    def columns(self) -> dict[str, Any]:
        """The names of the columns, and a guess at the one to predict: the last that has few values."""
        from discreet.sources.draft import look

        looked = look(self._rows())
        named = [one.name for one in looked.features] + [one for one in looked.left_out if one not in looked.ids]
        few = [one.name for one in looked.features if isinstance(one, Categorical) and len(one.categories) <= 10]
        return {"columns": named, "target": few[-1] if few else None}

    def draft(self, target: str) -> dict[str, Any]:
        """A schema read off the rows, for the person to go through: it discloses their ranges until then."""
        from discreet.sources.draft import WARNING, draft
        from discreet.sources.drafted import as_toml

        found = draft(self._rows(), target=target)
        self._drafted = as_toml(found, WARNING)
        return {"schema": self._drafted, "left_out": found.left_out}

    def check(self, text: str) -> dict[str, Any]:
        """Whether a schema is one, and what it says."""
        schema = self._schema(text)
        return {
            "target": schema.target,
            "classes": [str(label) for label in schema.classes],
            "features": [{"name": one.name, "kind": type(one).__name__.lower()} for one in schema.features],
            "inferred": schema.inferred,
            "open": list(schema.unsettled),
        }

    def declare(self, text: str) -> dict[str, Any]:
        """The schema as the person's own declaration: read, corrected and called public by them.

        A draft that nobody changed stays what it is: read off the rows, as the certificate then says.
        """
        schema = self._schema(text)
        unchanged = text.split() == self._drafted.split()
        if schema.inferred and not unchanged:
            kept = [line for line in text.splitlines() if not line.replace(" ", "").startswith("inferred=")]
            text = "\n".join(["inferred = false", *kept]) + "\n"
            schema = self._schema(text)
        self.schema_text = self._declared = text
        return {"schema": text, **self.check(text)}

    def _schema(self, text: str) -> Schema:
        import tomllib

        try:
            return Schema.from_dict(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise SchemaError(f"the schema is no TOML: {error}") from None

    def _rows(self) -> str:
        if self.rows is None:
            raise DataError("there are no rows yet: drop a file on the page, or take the demonstration rows")
        return str(self.rows)

    # ---- before anything is spent

    def plan(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """What a budget would buy: noise of each table, the kind of model, odds, and how to do it for real."""
        schema, count = self._schema(str(wanted["schema"])), _rows_of(wanted)
        estimator = _estimator(schema, wanted)
        plan = estimator.plan()
        chosen, tables = None, []
        if hasattr(plan, "choices"):
            ((_, choice),) = plan.choices((count,))
            chosen = {"model": choice.model, "reason": choice.reason}
        named = wanted["model"] if chosen is None else chosen["model"]
        counted = find("naive-bayes").make(schema=schema, epsilon=float(wanted["epsilon"]), delta=_delta(wanted))
        each = count / len(schema.classes)
        for row in counted.plan().rows():
            usual = each / max(row["cells"] / len(schema.classes), 1)
            tables.append({
                "statistic": row["statistic"], "cells": row["cells"], "noise": row["noise"], "rows": usual,
                "error": row["noise"] / usual,
            })  # fmt: skip
        return {
            "chosen": chosen,
            "tables": tables,
            "tables_of": "as a Naive Bayes model would release them" if named != "naive-bayes" else "",
            "odds": odds(float(wanted["epsilon"])),
            "command": self._command(wanted),
            "python": self._python(wanted),
        }

    def accuracy(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """What accuracy to expect of rows made up after the schema: no private row is read."""
        schema = self._schema(str(wanted["schema"]))
        if schema.unsettled:
            raise SchemaError("rows can be made up only once all bounds are declared")
        found = curve(_estimator(schema, wanted), schema, _rows_of(wanted), repeats=1)
        return {"curve": [one | {"epsilon": None if math.isinf(one["epsilon"]) else one["epsilon"]} for one in found]}

    def _command(self, wanted: Mapping[str, Any]) -> str:
        words = [
            "discreet",
            "fit",
            str(self.rows) if self._given else self.shown or "DATA",
            "--schema",
            "schema.toml",
            "--epsilon",
            f"{wanted['epsilon']:g}",
        ]
        words += ["--delta", f"{_delta(wanted):g}"] if _delta(wanted) else []
        words += ["--model", str(wanted["model"])] if wanted["model"] != "auto" else []
        words += ["--holdout", f"{HELD:g}"] if wanted.get("measure") else []
        words += ["--account", str(self.account)] if self.account is not None else []
        return shlex.join([*words, "--out", "model.json"])

    def _python(self, wanted: Mapping[str, Any]) -> str:
        kind = find(str(wanted["model"]))
        kind = find("auto") if kind.counted else kind
        name = kind.estimator.rpartition(":")[2]
        settings = [f"epsilon={wanted['epsilon']:g}", 'schema="schema.toml"']
        settings += [f"delta={_delta(wanted):g}"] if _delta(wanted) else []
        settings += [f"model={wanted['model']!r}"] if find(str(wanted["model"])).counted else []
        made = f"{name}({', '.join(settings)})"
        held = wanted.get("measure")
        imported = f"PrivateHoldout, {name}" if held else name
        made = f"PrivateHoldout({made}, share={HELD:g})" if held else made
        fitted = f"fitted = {made}.fit({self.shown or 'DATA'!r})"
        return "\n".join([f"from discreet import {imported}", "", fitted, 'fitted.model_.save("model.json")', ""])

    # ---- for real

    def fit(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """Charge the account, fit, and keep the released model in the folder."""
        if not self._one.acquire(blocking=False):
            raise DiscreetError("a fit is under way: wait for it")
        try:
            rows, schema = self._rows(), self._schema(str(wanted["schema"]))
            if schema.inferred and str(wanted["schema"]) != self._declared:
                raise SchemaError("go through the schema first and declare it: until then it only repeats the rows")
            estimator = _estimator(schema, wanted)
            if wanted.get("measure"):
                from discreet.evaluation import PrivateHoldout

                estimator = PrivateHoldout(estimator, share=HELD)
            if hasattr(estimator, "plan"):
                estimator.plan()
            account = self._opened(wanted)
            self.folder.mkdir(parents=True, exist_ok=True)
            self.progress = (0, None)
            estimator.fit(rows, account=account, progress=self._report)
            self.model = estimator.model_
            write_text(self.folder / "schema.toml", str(wanted["schema"]))
            self.model.save(self.folder / "model.json")
        finally:
            self.progress = None
            self._one.release()
        return self.told(account)

    def _report(self, done: int, total: int | None = None) -> None:
        self.progress = (done, total)

    def _opened(self, wanted: Mapping[str, Any]) -> Account:
        """The account that is charged: the one the explorer was given, or one for these rows that is made now."""
        if self.account is None:
            total = float(wanted.get("total") or 0)
            if not total > 0:
                raise DiscreetError("say how much may be spent on these people's rows in all: that opens an account")
            path = self.folder / "rows.account"
            if self._given and self.rows is not None:  # where every other command looks for it
                path = self.rows.with_name(f"{self.rows.name.partition('.')[0]}.account")
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                Account.create(path, Budget(total, delta=max(_delta(wanted), 0.0)))
            self.account = path
        return Account.open(self.account, label="discreet explore")

    def told(self, account: Account | None = None) -> dict[str, Any]:
        """The released model: guarantee, figures and shapes."""
        facts = Facts(self.model)
        measured = self.model.evaluation
        left = None if account is None else str(account.room)
        return {
            "kind": self.model.NAME,
            "budget": facts.budget,
            "protects": self.model.certificate.protects,
            "left": left,
            "figures": [] if measured is None else [
                {"name": name, "value": one.value, "low": one.low, "high": one.high} for name, one in measured.lines()
            ],
            "shapes": drawn(self.model),
            "file": "model.json",
        }  # fmt: skip

    def dossier(self, answers: Mapping[str, Any]) -> dict[str, Any]:
        """Documents of the model, with what was answered."""
        if self.model is None:
            raise DiscreetError("there is no model yet: fit one first")
        sections: dict[str, dict[str, Any]] = {}
        kinds = {one.key: one.kind for one in QUESTIONS}
        for key, said in answers.items():
            section, _, name = str(key).partition(".")
            value: Any = said
            if kinds.get(str(key)) is int and str(said).strip().isdigit():
                value = int(str(said))
            elif kinds.get(str(key)) is bool and str(said) in {"true", "false"}:
                value = said == "true"
            if str(said).strip():
                sections.setdefault(section, {})[name] = value
        made = make_dossier(self.model, Answers(sections))
        written = made.write(self.folder)
        return {
            "files": [path.name for path in written],
            "tier": made.entry.tier,
            "missing": [one.key for one in made.missing],
        }


def _delta(wanted: Mapping[str, Any]) -> float:
    return float(wanted.get("delta") or 0.0)


def _rows_of(wanted: Mapping[str, Any]) -> int:
    count = int(wanted.get("rows") or 0)
    if not 0 < count <= 10**10:
        raise DiscreetError("the assumed number of rows must be a positive number")
    return count


def _estimator(schema: Schema, wanted: Mapping[str, Any]) -> Any:
    """The estimator of a kind of model at the wanted budget; kinds that need a number of rows buy it first."""
    kind = find(str(wanted["model"]))
    more: dict[str, Any] = {"epsilon": float(wanted["epsilon"]), "delta": _delta(wanted)}
    if kind.counted:
        more["model"], kind = kind.name, find("auto")
    return kind.make(schema=schema).set_params(**more)
