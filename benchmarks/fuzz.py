"""Fuzzing: command lines of wrong and right words, and damaged schema and model files; none may end in a traceback.

`python -m benchmarks fuzz`: 500 command lines and 2,000 files, in a few minutes.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import line
from discreet import Categorical, Numeric, Schema, load
from discreet.errors import DiscreetError
from discreet.kinds import kinds

COMMANDS = ("schema", "bounds", "settle", "stats", "plan", "fit", "predict", "evaluate", "inspect", "select", "account",
            "local campaign", "local perturb", "local collect", "account show", "account create", "compare", "audit",
            "reproduce", "check", "explain", "synthesize", "gossip revoke", "nonsense", "")  # fmt: skip
OPTIONS = ("--schema", "-s", "--out", "-o", "--epsilon", "--delta", "--model", "--models", "--json", "--seed", "--k",
           "--target", "--adjacency", "--numeric", "--split", "--smoothing", "--contributions", "--bounds", "--edges",
           "--unexpected", "--holdout", "--statistics", "--table", "--baseline", "--account", "--no-account", "--list",
           "--rows", "--proba", "--epsilons", "--public", "--help", "--nonsense", "--mechanism", "--share", "--force",
           "--certificate", "--keep", "--threshold", "--lattice", "--repeats", "--coverage", "--format", "--generative",
           "--design", "--plot", "--measure", "--json-schema", "--resume-charge", "--keys")  # fmt: skip
WORDS = ("rows.csv", "s.toml", "draft.toml", "model.json", "missing.csv", ".", "", "-", "1", "0", "-1", "inf", "nan",
         "1e-6", "1e400", "0.5", "2", "auto", "nb", "lr", "tree", "laplace", "replace", "add-remove", "out.json",
         "out.csv", "out.toml", "out.stats", "no/such/place.json", "ill", "age", "ä€\u202e", "a b", "*.csv", "x" * 300,
         "/dev/null", "/dev/stdin", "duckdb:x.db", "postgresql://127.0.0.1:1/x", "private", "declared", "true",
         "9" * 30, "[", "0x10", "rows.account", '{"age": 4}', "rows.jsonl", "out.svg", "colour,age", "{")  # fmt: skip
SCHEMA = Schema(
    [
        Categorical("colour", ["red", "green"]),
        Numeric("age", 0, 100, bins=4, missing="bin"),
        Categorical("flag", [0, 1]),
    ],
    target="ill",
    classes=["no", "yes"],
)


def rows(size: int = 40) -> tuple[list[list[Any]], list[str]]:
    """A few rows of the schema with their labels."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 2, size)
    table = [[["red", "green"][int(rng.integers(2))], float(rng.integers(0, 100)), int(one)] for one in label]
    return table, [["no", "yes"][one] for one in label]


def prepare(folder: Path) -> None:
    """The files that command lines name."""
    table, labels = rows()
    lines = [",".join(map(str, [*row, label])) for row, label in zip(table, labels, strict=True)]
    (folder / "rows.csv").write_text("\n".join(["colour,age,flag,ill", *lines]) + "\n")
    heads = ("colour", "age", "flag", "ill")
    records = [dict(zip(heads, [*row, label], strict=True)) for row, label in zip(table, labels, strict=True)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records))
    SCHEMA.save(folder / "s.toml")
    SCHEMA.having(inferred=True).save(folder / "draft.toml")
    next(models())[1].save(folder / "model.json")


def command_lines(count: int, seed: int = 0) -> Iterator[list[str]]:
    """Command lines that are almost right: a command, some of what it might be given, and some of what not."""
    rng = random.Random(seed)
    for _ in range(count):
        words = rng.choice(COMMANDS).split()
        if rng.random() < 0.7:
            words += [rng.choice(("rows.csv", "rows.csv", "model.json", rng.choice(WORDS)))]
        if rng.random() < 0.6:
            words += ["--schema", rng.choice(("s.toml", "s.toml", rng.choice(WORDS)))]
        if rng.random() < 0.5:
            words += ["--out", rng.choice(("out.json", "out.csv", "out.toml", rng.choice(WORDS)))]
        for _ in range(rng.randrange(4)):
            words.append(rng.choice(OPTIONS))
            if rng.random() < 0.7:
                words.append(rng.choice(WORDS))
        if words[:1] == ["reproduce"] or words[:1] == ["audit"]:
            words.append("--list")
        yield words


def run_line(words: list[str]) -> str:
    """Run a command line here; what went wrong, if it ended in anything but an exit code or said more than it may."""
    from discreet.cli import main

    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    kept, sys.argv = sys.argv, ["discreet", *words]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        if end.code not in (0, 1, 2, None):
            return f"exit code {end.code}: {err.getvalue()[-300:]}"
    except BaseException:  # whatever it is, a person would have seen it
        return traceback.format_exc()
    finally:
        sys.argv = kept
    return err.getvalue() if "Traceback" in err.getvalue() else ""


def models() -> Iterator[tuple[str, Any]]:
    """A model of each kind that these rows suffice for."""
    table, labels = rows()
    for kind in kinds():
        with contextlib.suppress(DiscreetError):
            yield kind.name, kind.make(schema=SCHEMA, epsilon=50.0, random_state=0).fit(table, labels).model_


def changed(value: Any, rng: random.Random) -> Any:
    """A document with one thing in it changed: left out, doubled, of another type, or much larger or smaller."""
    found = copy.deepcopy(value)
    spot = found
    while True:
        keys = list(spot) if isinstance(spot, dict) else list(range(len(spot))) if isinstance(spot, list) else []
        if not keys:
            return rng.choice(STRANGE)
        key = rng.choice(keys)
        inner = spot[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.8:
            spot = inner
            continue
        how = rng.randrange(4)
        if how == 0:
            del spot[key]
        elif how == 1 and isinstance(spot, list):
            spot.insert(key, copy.deepcopy(inner))
        elif how == 2 and isinstance(inner, int | float) and not isinstance(inner, bool):
            spot[key] = rng.choice((-inner, inner * 1e300, inner + 1, -1, 2**70, 0))
        else:
            spot[key] = rng.choice(STRANGE)
        return found


STRANGE: tuple[Any, ...] = (
    None,
    True,
    "",
    "x",
    "\x00",
    0,
    -1,
    1.5,
    1e308,
    2**64,
    [],
    {},
    [[]],
    {"a": 1},
    ["a"],
    "1/0",
    "inf",
)


def check(load_it: Callable[[Path], Any], place: Path) -> str:
    """Read a file and use what it holds; what went wrong, if that was anything but an error of this package."""
    try:
        found = load_it(place)
        if hasattr(found, "predict"):
            found.predict(rows(3)[0])
            found.explain()
    except DiscreetError:
        return ""
    except BaseException:  # whatever it is, a person would have seen it
        return traceback.format_exc()
    return ""


def files(count: int, seed: int = 0) -> Iterator[tuple[str, str]]:
    """What went wrong with that many damaged files, each with the name of what it was made of."""
    rng = random.Random(seed)
    made: list[tuple[str, Any, Callable[[Path], Any]]] = [
        (name, json.loads(json.dumps(model.to_dict())), load) for name, model in models()
    ]
    made += [("schema", SCHEMA.to_dict(), Schema.load)] * max(len(made) // 2, 1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "file.json")
        for _ in range(count):
            name, document, load_it = rng.choice(made)
            if rng.random() < 0.8:
                for _ in range(rng.randrange(1, 3)):
                    document = changed(document, rng)
                raw = json.dumps(document).encode()
                if rng.random() < 0.5 and isinstance(document, dict) and isinstance(document.get("certificate"), dict):
                    document["certificate"].pop("parameters", None)  # which would tell of every other change
                    raw = json.dumps(document).encode()
            else:
                whole = bytearray(json.dumps(document).encode())
                for _ in range(rng.randrange(1, 4)):
                    whole[rng.randrange(len(whole))] = rng.randrange(256)
                raw = bytes(whole[: rng.randrange(len(whole))] if rng.random() < 0.3 else whole)
            place.write_bytes(raw)
            yield name, check(load_it, place)


def lines(count: int, seed: int = 0) -> Iterator[tuple[list[str], str]]:
    """What went wrong with that many command lines."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        try:
            os.chdir(folder)
            prepare(Path(folder))
            for words in command_lines(count, seed):
                yield words, run_line(words)
                if not Path("rows.csv").exists() or not Path("model.json").exists():
                    prepare(Path(folder))
        finally:
            os.chdir(before)


def run(**_: Any) -> list[dict[str, Any]]:
    """Fuzz, print what went wrong, and count it."""
    found = []
    for what, some in (("command lines, of 500", lines(500)), ("damaged files, of 2,000", files(2000))):
        wrong = 0
        for name, trouble in some:
            if trouble:
                wrong += 1
                print(f"{name}: {trouble}", file=sys.stderr)
        found.append(line(f"tracebacks from {what}", wrong, "", "0", wrong == 0))
    return found
