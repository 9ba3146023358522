"""Findings: what result files of all kinds say, as plain rows for charts and tables."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.files import parse_json

Row = dict[str, Any]
METRICS = ("auc", "accuracy", "balanced_accuracy", "log_loss")
KEYS = ("data", "method", "epsilon")
STEPS = ("rounds", "round", "step", "batches")
MOST = 4000  # rows of one chart: more would make the page slow, and nobody could tell them apart


@dataclass
class Findings:
    """Rows of each section of the report, in the order in which files were given."""

    scores: list[Row] = field(default_factory=list)
    claims: list[Row] = field(default_factory=list)
    audits: list[Row] = field(default_factory=list)
    benchmarks: list[Row] = field(default_factory=list)
    models: list[Row] = field(default_factory=list)
    convergence: list[Row] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def empty(self) -> bool:
        """Whether nothing was found."""
        return not (self.scores or self.claims or self.audits or self.benchmarks or self.models or self.convergence)


def read(paths: Iterable[Path]) -> Findings:
    """Everything that files and folders of results say; a file that says nothing of the kind is named in an error."""
    found = Findings()
    for path in paths:
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.suffix in {".json", ".parquet"})
            told = [one for one in inside if _take(one, found, strict=False)]
            if not told:
                raise DiscreetError(f"{path} holds no results: pass what reproduce, audit, compare or fit wrote")
            continue
        if not path.exists():
            raise DiscreetError(f"there is no file {path}")
        _take(path, found, strict=True)
    return found


def _take(path: Path, found: Findings, *, strict: bool) -> bool:
    """Read one file, if it is of a kind that a report shows."""
    before = _size(found)
    try:
        if path.suffix == ".parquet":
            _measurements(path, found)
        else:
            _document(path, parse_json(path.read_bytes()), found)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        if strict:
            raise DiscreetError(f"{path} cannot be read as results: {error}") from None
        return False
    if _size(found) == before:
        if strict:
            raise DiscreetError(
                f"{path} holds no results: pass what reproduce, audit --json, compare --json, benchmarks or fit wrote"
            )
        return False
    found.files.append(path.name)
    return True


def _size(found: Findings) -> int:
    return sum(len(part) for part in vars(found).values()) - len(found.files)


def _document(path: Path, whole: Any, found: Findings) -> None:
    """A JSON file, by what stands in it."""
    if isinstance(whole, Mapping) and isinstance(whole.get("certificate"), Mapping) and "schema" in whole:
        found.models.append(_model(path))
    elif isinstance(whole, Mapping) and "cells" in whole and "datasets" in whole:
        found.scores += _utility(path, whole)
    elif isinstance(whole, Mapping) and isinstance(whole.get("figures"), list):
        found.scores += _comparison(path, whole["figures"])
    else:
        listed = whole if isinstance(whole, list) else whole.get("results", [whole]) if isinstance(whole, dict) else []
        for one in listed if isinstance(listed, list) else []:
            if not isinstance(one, Mapping):
                continue
            if "lower_bound" in one:
                found.audits.append(_audit(path, one))
            elif "claim" in one and "verdict" in one:
                found.claims.append(_claim(path, one, {}))
            elif isinstance(one.get("claims"), list):
                found.claims += [_claim(path, claim, one) for claim in one["claims"] if isinstance(claim, Mapping)]
        if isinstance(whole, Mapping):
            found.benchmarks += _benchmarks(whole)


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


# ---- scores


def _score(source: str, data: str, method: str, epsilon: Any, metric: str, mean: Any, error: Any, count: Any) -> Row:
    spread = _number(error)
    middle = _number(mean)
    low, high = (None, None) if spread is None or middle is None else (middle - 2 * spread, middle + 2 * spread)
    return {
        "source": source, "data": data, "method": method, "epsilon": _number(epsilon), "metric": metric,
        "mean": middle, "error": spread, "low": low, "high": high, "count": count,
    }  # fmt: skip


def _utility(path: Path, whole: Mapping[str, Any]) -> list[Row]:
    titles = {name: one.get("title", name) for name, one in whole["datasets"].items()}
    rows = []
    for one in whole["cells"]:
        metric = "auc" if one.get("auc") is not None else "accuracy"
        rows.append(
            _score(path.name, titles.get(one["data"], one["data"]), one["method"], one.get("epsilon"), metric,
                   one.get(metric), one.get(f"{metric}_error"), one.get("seeds"))
        )  # fmt: skip
    return rows


def _comparison(path: Path, figures: list[Any]) -> list[Row]:
    kept = [one for one in figures if isinstance(one, Mapping) and "accuracy" in one]
    return [
        _score(path.name, "these rows", str(one.get("model")), one.get("epsilon"), "accuracy", one["accuracy"],
               one.get("error"), one.get("repeats"))
        for one in kept
    ]  # fmt: skip


def _measurements(path: Path, found: Findings) -> None:
    """The measurements of a study: means over repeats and folds, and how they go over rounds."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    try:
        table = parquet.read_table(path)
    except pa.ArrowException as error:
        raise ValueError(str(error)) from None
    names = set(table.column_names)
    if not names >= set(KEYS):
        return
    metrics = [one for one in METRICS if one in names]
    extra = [one for one in ("experiment", *STEPS) if one in names]
    groups: dict[tuple[Any, ...], dict[str, list[float]]] = {}
    for row in table.select([*KEYS, *metrics, *extra, *({"error"} & names)]).to_pylist():
        if row.get("error"):
            continue
        spot = tuple(row.get(name) for name in (*KEYS, *extra))
        held = groups.setdefault(spot, {name: [] for name in metrics})
        for name in metrics:
            value = _number(row[name])
            if value is not None:
                held[name].append(value)
    source = _source(path)
    for spot, held in groups.items():
        named = dict(zip((*KEYS, *extra), spot, strict=True))
        metric = next((name for name in metrics if held[name]), None)
        if metric is None:
            continue
        mean, spread = _mean(held[metric])
        experiment = f", {named['experiment']}" if named.get("experiment") else ""
        step = next((named[name] for name in STEPS if named.get(name) is not None), None)
        row = _score(source + experiment, str(named["data"]), str(named["method"]), named["epsilon"], metric, mean,
                     spread, len(held[metric]))  # fmt: skip
        (found.scores if step is None else found.convergence).append(row if step is None else {**row, "step": step})


def _source(path: Path) -> str:
    """What a results file is called: its own name, or that of its folder where all have the same."""
    return path.parent.name if path.stem in {"results", "full", "fast"} else path.stem


def _mean(values: list[float]) -> tuple[float, float | None]:
    middle = math.fsum(values) / len(values)
    if len(values) < 2:
        return middle, None
    spread = math.fsum((one - middle) ** 2 for one in values) / (len(values) - 1)
    return middle, math.sqrt(spread / len(values))


# ---- claims, audits, benchmarks


def _claim(path: Path, one: Mapping[str, Any], run: Mapping[str, Any]) -> Row:
    study = str(one.get("study") or run.get("study") or path.parent.name or path.stem)
    part = one.get("part") or run.get("part")
    return {
        "study": f"{study} {part}" if part else study,
        "claim": str(one["claim"]),
        "verdict": str(one["verdict"]),
        "reason": str(one.get("reason", "")),
    }


def _audit(path: Path, one: Mapping[str, Any]) -> Row:
    return {
        "source": path.name,
        "name": str(one.get("name", path.stem)),
        "claimed": _number(one.get("epsilon")),
        "delta": _number(one.get("delta")) or 0.0,
        "bound": _number(one["lower_bound"]),
        "confidence": _number(one.get("confidence")),
        "verdict": str(one.get("verdict", "")),
        "samples": one.get("samples"),
        "setting": str(one.get("pair") or one.get("setting") or ""),
    }


def _benchmarks(whole: Mapping[str, Any]) -> list[Row]:
    rows = []
    for name, lines in whole.items():
        for one in lines if isinstance(lines, list) else ():
            if isinstance(one, Mapping) and {"what", "measured", "bar"} <= set(one):
                met = "" if one.get("met") is None else "yes" if one["met"] else "no"
                rows.append({
                    "benchmark": name, "what": str(one["what"]), "measured": str(one["measured"]),
                    "unit": str(one.get("unit", "")), "bar": str(one["bar"]), "met": met,
                })  # fmt: skip
    return rows


# ---- models


def _model(path: Path) -> Row:
    """A released model: its guarantee, where its budget went, and its shapes."""
    from fractions import Fraction

    from discreet.models import load

    model = load(path)
    certificate = model.certificate
    return {
        "name": path.stem,
        "kind": model.NAME,
        "target": model.schema.target,
        "private": certificate.private and not certificate.simulation,
        "epsilon": None if certificate.epsilon is None else certificate.epsilon_value,
        "delta": certificate.delta_value,
        "protects": certificate.protects,
        "flows": _flows(certificate.ledger, lambda node: float(Fraction(node.cost))),
        "shapes": _shapes(model),
        "figures": [] if model.evaluation is None else [
            {"figure": name, "value": one.value, "low": one.low, "high": one.high}
            for name, one in model.evaluation.lines()
        ],
    }  # fmt: skip


def _flows(node: Any, cost: Callable[[Any], float], depth: int = 0) -> list[Row]:
    """The ledger as lines from the whole to its parts."""
    if not hasattr(node, "parts"):
        return [{"depth": depth, "what": node.what, "how": node.mechanism, "measure": node.measure, "cost": cost(node)}]
    rule = "the dearest counts" if node.node == "parallel" else "costs add up"
    inside = [one for part in node.parts for one in _flows(part, cost, depth + 1)]
    total = [one["cost"] for one in inside if one["depth"] == depth + 1]
    whole = (max if node.node == "parallel" else sum)(total) if total else 0.0
    return [{"depth": depth, "what": node.what, "how": rule, "measure": _common(inside), "cost": whole}, *inside]


def _common(rows: list[Row]) -> str:
    measures = {row["measure"] for row in rows}
    return measures.pop() if len(measures) == 1 else "mixed"


def _shapes(model: Any) -> list[Row]:
    """What each feature adds by value, with one standard error of the noise where it is known."""
    rows: list[Row] = []
    whole = model.explain()
    told, kinds = whole.to_dict(), {one.name: one.numeric for one in whole.shapes}
    for shape in told["shapes"]:
        for place, label in enumerate(told["classes"]):
            errors = shape["standard_error"]
            for index, at in enumerate(shape["at"]):
                number = kinds[shape["feature"]] and isinstance(at, int | float)
                value = _number(shape["values"][place][index])
                error = None if errors is None else _number(errors[place][index])
                rows.append({
                    "feature": shape["feature"], "class": label, "numeric": number,
                    "at": at if number else str(at), "value": value,
                    "low": None if error is None or value is None else value - error,
                    "high": None if error is None or value is None else value + error,
                })  # fmt: skip
    return rows[:MOST]


def as_json(value: Any) -> str:
    """JSON that may stand inside a page's script element."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")
