"""The speed table: fits and predictions beside peers, kinds, growth, memory, reports, rounds and engines in one report.

`python -m benchmarks table --readme` measures everything, writes docs/speed.json, and makes README.md's and
docs/speed.md's tables from it; `--report` makes them again from what was measured.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.common import line
from benchmarks.peers import environments, timed
from discreet.files import write_text

MARKS = ("<!-- speed:begin -->", "<!-- speed:end -->")
BASE: dict[str, Any] = {"library": "discreet", "kind": "naive-bayes", "settings": {}, "input": "frame", "rows": 100_000,
                        "codes": 8, "numbers": 6, "categories": 10, "classes": 2, "predicted": 0}  # fmt: skip
PREDICTED = 1_000_000
SLOW_KINDS = {"tan", "forest", "pairs"}  # that are not fitted to a million rows
NARROW = {"codes": 3, "numbers": 0}  # of which all features together make a table
PARTS = ("beside", "kinds", "growth", "smooth", "local", "rounds", "engines", "starts")
Cells = list[dict[str, Any]]


def run(
    rows: int = 5_000_000,
    file_rows: int = 100_000_000,
    repeats: int = 5,
    datasets: Sequence[str] = (),
    folder: Path = Path("results"),
    peers: Path | None = None,
    report: bool = False,
    readme: bool = False,
    **_: Any,
) -> list[dict[str, Any]]:
    """Measure all parts (or those that `--datasets` names), keep them in speed.json, and put them into the docs."""
    root = environments.ROOT
    kept = root / "docs" / "speed.json" if readme or report else folder / "speed.json"
    found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    console = Console(stderr=True)
    for part in PARTS if not report else ():
        if datasets and part not in datasets:
            continue
        console.print(f"measuring {part}")
        began = time.perf_counter()
        found[part] = globals()[f"_{part}"](rows=rows, file_rows=file_rows, repeats=repeats, peers=peers)
        found["machine"] = {"cores": os.cpu_count(), "python": platform.python_version()}
        found["minutes"] = {**found.get("minutes", {}), part: round((time.perf_counter() - began) / 60, 1)}
        console.print(f"{found['minutes'][part]} minutes")
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_text(kept, encoded(found))
    if readme:
        publish(found, root)
    return [line(what, figure, unit) for what, figure, unit in summary(found)]


def encoded(found: dict[str, Any]) -> str:
    """JSON with one line per cell."""
    parts = [
        f" {json.dumps(key)}: " + (json.dumps(value) if not isinstance(value, list) else
        "[\n  " + ",\n  ".join(json.dumps(one) for one in value) + "\n ]")
        for key, value in found.items()
    ]  # fmt: skip
    return "{\n" + ",\n".join(parts) + "\n}\n"


# ---- measuring


def _case(repeats: int, peers: Path | None = None, **changes: Any) -> dict[str, Any]:
    """One case in a process of its own; a peer that cannot be had, or a case that fails, says why."""
    spec = {**BASE, **changes, "repeats": repeats}
    try:
        python = environments.interpreter(spec["library"], peers or environments.cache_dir())
    except environments.BuildError as error:
        return {"spec": changes, "failed": str(error)}
    command = [str(python), str(Path(timed.__file__)), json.dumps(spec)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"spec": changes, "failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    figures = {key: float(f"{value:.4g}") for key, value in json.loads(done.stdout).items()}
    return {"spec": changes, **figures}


def _beside(rows: int, repeats: int, peers: Path | None, **_: Any) -> Cells:
    """The same rows by each library, in memory."""
    found = []
    for size in dict.fromkeys(min(one, rows) for one in (100_000, 1_000_000, rows)):
        predicted = {"rows": size, "predicted": PREDICTED}
        for numeric in ("histogram", "gaussian"):
            for kind in ("frame", "matrix"):
                found.append(_case(repeats, input=kind, settings={"numeric": numeric}, **predicted))
        for library in ("scikit-learn", "diffprivlib"):
            found.append(_case(min(repeats, 2), peers, library=library, **predicted))
    return found


def _kinds(rows: int, repeats: int, **_: Any) -> Cells:
    """Every registered kind."""
    from discreet.kinds import REGISTRY

    sizes = dict.fromkeys(min(one, rows) for one in (100_000, 1_000_000))
    return [
        _case(min(repeats, 2), kind=name, rows=size, predicted=size, **(NARROW if name == "joint" else {}))
        for name in REGISTRY.names() for size in sizes if size <= 100_000 or name not in SLOW_KINDS
    ]  # fmt: skip


def _growth(rows: int, file_rows: int, repeats: int, **_: Any) -> Cells:
    """Naive Bayes as rows, features, categories and classes grow; then rows in a Parquet file."""
    from benchmarks import memory

    cases: list[dict[str, Any]] = [{"rows": size} for size in (100_000, 1_000_000, 10_000_000) if size <= 2 * rows]
    cases += [{"codes": size // 2, "numbers": size // 2} for size in (10, 100, 1000)]
    cases += [{"codes": 4, "numbers": 0, "categories": size} for size in (10, 1000, 100_000)]
    cases += [{"classes": size} for size in (2, 10, 100)]
    found = [_case(min(repeats, 3), **case) for case in cases]
    for size in dict.fromkeys(min(one, file_rows) for one in (10_000_000, file_rows)):
        [(peak, seconds)], decoded = memory.fitted(size, "histogram")
        spec = {"rows": size, "input": "Parquet"}
        found.append({"spec": spec, "fit": seconds, "read": decoded, "peak": 1024 * peak})
    return found


def _smooth(rows: int, repeats: int, **_: Any) -> Cells:
    from benchmarks import smooth_cost

    return smooth_cost.run(repeats=min(repeats, 3))


def _local(repeats: int, **_: Any) -> Cells:
    from benchmarks import local

    return local.run(repeats=min(repeats, 3))


def _rounds(repeats: int, **_: Any) -> Cells:
    from benchmarks import gossip, secure

    return [*gossip.run(), *secure.run(repeats=min(repeats, 3))]


def _engines(rows: int, repeats: int, **_: Any) -> Cells:
    from benchmarks import databases, engines

    return [*engines.run(rows=rows, repeats=min(repeats, 3)), *databases.run(rows=rows)]


def _starts(repeats: int, **_: Any) -> Cells:
    from benchmarks import startup

    return startup.run(repeats=min(repeats, 3))


# ---- reporting


def _figures(cells: Cells, **wanted: Any) -> dict[str, Any]:
    """The first cell with these settings."""
    for cell in cells:
        spec = {**BASE, **cell.get("spec", {})}
        if all(spec.get(key) == value for key, value in wanted.items()):
            return cell
    return {}


def _ratio(cell: dict[str, Any], other: dict[str, Any], key: str) -> float | None:
    return cell[key] / other[key] if cell.get(key) and other.get(key) else None


def _text(value: float | None, unit: str = "") -> str:
    if value is None:
        return "–"
    return f"{value:.3g}{unit}" if value < 1000 else f"{value:,.0f}{unit}"


def _size(cell: dict[str, Any]) -> int:
    return int({**BASE, **cell.get("spec", {})}["rows"])


def summary(found: dict[str, Any]) -> list[tuple[str, float | None, str]]:
    """The README's lines: fits and predictions of the largest table beside each peer and the physical limit."""
    cells = found.get("beside", [])
    size = max((_size(cell) for cell in cells), default=0)
    lines: list[tuple[str, float | None, str]] = []
    peers = {name: _figures(cells, library=name, rows=size) for name in ("scikit-learn", "diffprivlib")}
    for kind in ("frame", "matrix"):
        mine = _figures(cells, library="discreet", rows=size, input=kind, settings={"numeric": "histogram"})
        read = mine["fit"] / mine["read"] if mine.get("fit") else None
        what = f"{size / 1e6:g} M rows x 14, {kind}"
        lines.append((f"fit, {what}", mine.get("fit"), "s"))
        lines.append((f"fit, {what}", read, "times one read of the bytes"))
        for name, theirs in peers.items():
            for task in ("fit", "predict"):
                ratio = _ratio(theirs, mine, task)
                lines.append((f"{task}, {what}", ratio, f"times as fast as {name}"))
    return lines


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def short(found: dict[str, Any]) -> str:
    """The README's table."""
    cells = found.get("beside", [])
    rows = []
    for size in sorted({_size(cell) for cell in cells}):
        for kind in ("frame", "matrix"):
            mine = _figures(cells, library="discreet", rows=size, input=kind, settings={"numeric": "histogram"})
            others = [_figures(cells, library=name, rows=size) for name in ("scikit-learn", "diffprivlib")]
            rows.append(
                [f"{size:,}, {'data frame' if kind == 'frame' else 'matrix'}", _text(mine.get("fit"), " s"),
                 _reads(mine),
                 *(_text(_ratio(theirs, mine, task), " x") for task in ("fit", "predict") for theirs in others)]
            )  # fmt: skip
    head = ["rows x 14", "fit", "of one read of the bytes", "fit beside scikit-learn", "beside diffprivlib",
            "predict beside scikit-learn", "beside diffprivlib"]  # fmt: skip
    return _grid(head, rows)


def full(found: dict[str, Any]) -> str:
    """All tables of docs/speed.md."""
    machine = found.get("machine", {})
    parts = [f"Measured on {machine.get('cores', '?')} cores with Python {machine.get('python', '?')}."]
    for part, title, make in (
        ("beside", "Beside other libraries, in memory", _beside_table),
        ("kinds", "Kinds of models", _kinds_table),
        ("growth", "Naive Bayes as tables grow", _growth_table),
        ("starts", "Starts", _lines_table),
        ("smooth", "Smooth against global sensitivity", _lines_table),
        ("engines", "Rows in engines and databases", _lines_table),
        ("local", "Local reports", _lines_table),
        ("rounds", "Gossip and federated rounds", _lines_table),
    ):
        if part in found:
            parts += [f"### {title}", make(found[part])]
    return "\n\n".join(parts)


def _beside_table(cells: Cells) -> str:
    models = {"scikit-learn": "CategoricalNB + GaussianNB", "diffprivlib": "GaussianNB"}
    rows = []
    for cell in cells:
        spec = {**BASE, **cell["spec"]}
        library = spec["library"]
        model, kind = (models[library], "matrix") if library in models else (spec["settings"]["numeric"], spec["input"])
        theirs = _figures(cells, library="scikit-learn", rows=spec["rows"])
        timed = [_text(cell.get("first"), " s"), _text(cell.get("fit"), " s"), _text(_ratio(theirs, cell, "fit"), " x")]
        answered = [_text(cell.get("predict"), " s"), _text(_ratio(theirs, cell, "predict"), " x")]
        rows.append([f"{spec['rows']:,}", f"{library}, {model}", kind, *timed, _reads(cell), *answered, _peak(cell)])
    head = ["rows", "library, model", "input", "first fit", "fit", "as fast as scikit-learn", "of one read",
            "predict", "as fast as scikit-learn", "memory beyond the rows"]  # fmt: skip
    return _grid(head, rows)


def _reads(cell: dict[str, Any]) -> str:
    """A fit as a multiple of one read of its bytes."""
    return _text(_ratio(cell, {"fit": cell.get("read")}, "fit"), " x")


def _peak(cell: dict[str, Any]) -> str:
    return _text(cell.get("peak"), " MiB")


def _kinds_table(cells: Cells) -> str:
    rows = []
    for cell in cells:
        spec = {**BASE, **cell["spec"]}
        figures = [_text(cell.get(key), " s") for key in ("first", "fit", "predict")]
        wide = f"{spec['codes'] + spec['numbers']}"
        rows.append([spec["kind"], f"{spec['rows']:,}", wide, *figures, _peak(cell), cell.get("failed", "")])
    return _grid(["kind", "rows", "features", "first fit", "fit", "predict", "memory beyond the rows", ""], rows)


def _growth_table(cells: Cells) -> str:
    rows = []
    for cell in cells:
        spec = {**BASE, **cell["spec"]}
        size = f"{spec['rows']:,}{', Parquet file' if spec['input'] == 'Parquet' else ''}"
        sizes = [size, f"{spec['codes'] + spec['numbers']}", f"{spec['categories']:,}", f"{spec['classes']}"]
        rate = _text(spec["rows"] / cell["fit"] / 1e6 if cell.get("fit") else None)
        rows.append([*sizes, _text(cell.get("fit"), " s"), rate, _reads(cell), _peak(cell), cell.get("failed", "")])
    head = ["rows", "features", "categories", "classes", "fit", "million rows/s", "of one read", "memory", ""]
    return _grid(head, rows)


def _lines_table(cells: Cells) -> str:
    return _grid(["what", "measured", "unit"], [[one["what"], _text(one["measured"]), one["unit"]] for one in cells])


def publish(found: dict[str, Any], root: Path) -> None:
    """Put the tables where readers find them: the README and docs/speed.md."""
    made: tuple[tuple[Path, Callable[[dict[str, Any]], str]], ...] = (
        (root / "README.md", short), (root / "docs" / "speed.md", full),
    )  # fmt: skip
    begin, end = MARKS
    for file, make in made:
        text = file.read_text(encoding="utf-8")
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"{file.name} needs one {begin} and one {end}")
        block = f"{begin}\n{make(found)}\n{end}"
        write_text(file, re.sub(f"{begin}.*?{end}", lambda _, block=block: block, text, flags=re.DOTALL))  # type: ignore[misc]
