"""What the reader of a page has: a folder with a schema, rows and a model, and names for them in Python."""

from __future__ import annotations

import csv
import gzip
import json
import random
from pathlib import Path
from typing import Any

COLUMNS = ("id", "ward", "age", "sex", "ill")


def rows_of(count: int, seed: int) -> list[dict[str, Any]]:
    """Made-up patients."""
    dice = random.Random(seed)
    made = []
    for number in range(count):
        ill = dice.random() < 0.4
        age = min(100, max(0, round(dice.gauss(60 if ill else 40, 12))))
        values = (number, dice.choice("ab"), age, dice.choice("FM"), "yes" if ill else "no")
        made.append(dict(zip(COLUMNS, values, strict=True)))
    return made


def schema_of() -> Any:
    """What is public about them."""
    from discreet import Categorical, Numeric, Schema

    return Schema([Numeric("age", 0, 100, integer=True), Categorical("sex", ["F", "M"])], "ill", ["no", "yes"])


# Pages that say everything themselves: their reader begins with an empty folder and no name.
WHOLE = ("README.md", "tutorials/", "how-to/", "explanation/")


def prepare(folder: Path) -> None:
    """Files by all the names that pages use for them."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet import PrivateNB

    everybody, schema = rows_of(2000, 0), schema_of()
    table = pa.Table.from_pylist(everybody)
    for name in ("schema", "adult", "skin", "survey"):
        schema.save(folder / f"{name}.toml")
    for name in ("patients", "new", "test", "monday", "tuesday", "withdrawn", "people"):
        with open(folder / f"{name}.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(everybody if name != "withdrawn" else everybody[:20])
    for name in ("rows", "train", "2025", "2026", "shard-1", "shard-2"):
        pq.write_table(table, folder / f"{name}.parquet")
    (folder / "patients.jsonl").write_text("".join(json.dumps(row) + "\n" for row in everybody))
    (folder / "patients.csv.gz").write_bytes(gzip.compress((folder / "patients.csv").read_bytes()))
    with duckdb.connect(str(folder / "clinic.db")) as clinic:
        clinic.register("made", table)
        clinic.execute("CREATE TABLE visits AS SELECT * FROM made")
    PrivateNB(1.0, schema=schema).fit(table).model_.save(folder / "model.json")


def names(page: str) -> dict[str, Any]:
    """What pages call the reader's own: a schema, rows with and without the target, a model, new rows, an account."""
    import pyarrow as pa

    from discreet import Account, Budget, PrivateNB

    schema, patients = schema_of(), pa.Table.from_pylist(rows_of(2000, 0))
    given = {
        "schema": schema, "patients": patients, "rows": patients, "test": patients, "days": [patients, patients],
        "folder": Path("documents"), "clf": PrivateNB(1.0, schema=schema).fit(patients),
        "account": Account.create("hospital.account", Budget(10, delta=1e-6)),
        **_split(patients, ["age", "sex"]),
    }  # fmt: skip
    return given | OTHERS.get(page, dict)()


def _split(patients: Any, columns: list[str]) -> dict[str, Any]:
    X, y = patients.select(columns), patients["ill"].to_pylist()
    few = X.slice(0, 5)
    return {"X": X, "y": y, "X_test": X, "y_test": y, "X_new": few, "new_rows": few, "new": X,
            "public_X": X, "public_y": y}  # fmt: skip


def _numbers_alone() -> dict[str, Any]:
    """A survey that asks for one number."""
    import pyarrow as pa

    schema = schema_of()
    schema.__class__(schema.features[:1], schema.target, schema.classes).save("survey.toml")
    return _split(pa.Table.from_pylist(rows_of(2000, 0)), ["age"])


def _wages() -> dict[str, Any]:
    """Rows with a number that nobody knows the bounds of."""
    import pyarrow as pa

    dice = random.Random(1)
    rows = [
        {"sex": row["sex"].lower(), "wage": round(dice.lognormvariate(7, 0.5)), "age": row["age"], "ill": row["ill"]}
        for row in rows_of(2000, 0)
    ]
    return _split(pa.Table.from_pylist(rows), ["sex", "wage", "age"])


def _words() -> dict[str, Any]:
    """Rows with a dozen features to choose from."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from discreet import Categorical, Schema

    dice = random.Random(2)
    columns = [f"word{i}" for i in range(12)]
    rows = [{**{name: dice.choice("ny") for name in columns}, "ill": row["ill"]} for row in rows_of(2000, 0)]
    schema = Schema([Categorical(name, ["n", "y"]) for name in columns], "ill", ["no", "yes"])
    schema.save("schema.toml")
    pq.write_table(pa.Table.from_pylist(rows), "rows.parquet")
    return {"schema": schema, **_split(pa.Table.from_pylist(rows), columns)}


def _sites() -> dict[str, Any]:
    """A plan, and a key and counts of each of twenty sites."""
    import pyarrow as pa

    from discreet import Budget
    from discreet.bayes.plan import make_plan
    from discreet.federated.secure import KeySigner
    from discreet.sources import collect

    plan = make_plan(schema_of(), Budget(1))
    tables = {f"n{i:02d}": pa.Table.from_pylist(rows_of(100, i)) for i in range(20)}
    counts = {name: collect(table, plan.schema, detail=plan.detail) for name, table in tables.items()}
    return {"plan": plan, "statistics": counts, "signers": {name: KeySigner.generate() for name in tables}}


OTHERS = {
    "local-privacy.md": _numbers_alone,
    "private-bounds.md": _wages,
    "secure-aggregation.md": _sites,
    "selection.md": _words,
}
