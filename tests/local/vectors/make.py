"""How the vectors are made: campaigns of every mechanism, rows at the edges, and the random bytes of each report."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet import Categorical, Numeric, Schema
from discreet.local.campaign import Campaign
from discreet.local.client import LocalClient
from discreet.local.entropy import GivenSource
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import ORACLES
from discreet.local.wire.report import ID_BYTES

HERE = Path(__file__).parent
FILES = ("oracles", "numbers", "texts")
WORDS = 4096

PEOPLE = Schema(
    [
        Categorical("sex", ["f", "m"], other="another", missing="category"),
        Numeric("age", 0, 100, integer=True, bins=[0, 18, 65, 100], missing="bin"),
    ],
    target="ill",
    classes=["no", "yes"],
)
CODES = Schema(
    [
        Categorical("grade", [1, 2, 10, -3]),
        Categorical("smokes", [True, False], missing="category"),
        Categorical("dose", ["0.5", "1e-05", "inf", "True", "ä"], other="?"),
        Numeric("fever", -3.5, 42, bins=5),
    ],
    target="group",
    classes=[0, 1, 2],
)
NUMBERED = Schema(
    [
        Numeric("warmth", -3.5, 42, bins=4),
        Numeric("steps", -8, 7, integer=True),
        Numeric("share", 0, 1, step=0.25, bins=2),
        Numeric("weight", 0, 10, bins=3, missing="bin"),
    ],
    target="fine",
    classes=[False, True],
)

_NAN = math.nan
ROWS: dict[str, list[dict[str, Any]]] = {
    "people": [
        {"sex": "f", "age": 17, "ill": "no"},
        {"sex": "x", "age": 18, "ill": "yes"},
        {"sex": None, "age": 64.5, "ill": "yes"},
        {"sex": "another", "age": None, "ill": "no"},
        {"sex": _NAN, "age": -math.pi, "ill": "no"},
        {"sex": "m", "age": 1e300, "ill": "yes"},
    ],
    "codes": [
        {"grade": 1, "smokes": True, "dose": "0.5", "fever": 5.6, "group": 0},
        {"grade": 2.0, "smokes": "False", "dose": 1e-05, "fever": -3.5, "group": "1"},
        {"grade": " +010.00 ", "smokes": 1, "dose": 0.5, "fever": 42, "group": 2.0},
        {"grade": "-3", "smokes": None, "dose": True, "fever": 10**30, "group": " 02 "},
        {"grade": True, "smokes": "0.0", "dose": math.inf, "fever": True, "group": False},
    ],
    "numbered": [
        {"warmth": 7.875, "steps": -8, "share": 0.5, "weight": None, "fine": True},
        # half-way points of the lattices: ties go to the even point
        {"warmth": -3.5 + 45.5 * 1.5 / 131072, "steps": 0.25, "share": 0.0625, "weight": 5, "fine": "true"},
        {"warmth": -3.5 + 45.5 * 2.5 / 131072, "steps": -0.75, "share": 0.1875, "weight": 10 / 3, "fine": 0},
        {"warmth": 41.99999, "steps": 99, "share": -1, "weight": 20 / 3, "fine": "False"},
        {"warmth": 0.1 + 0.2, "steps": 6.999, "share": 0.9999, "weight": 0.1, "fine": False},
    ],
}


def campaigns(name: str) -> Iterator[tuple[Campaign, list[dict[str, Any]]]]:
    """The campaigns of one file, with the rows that are reported in each."""
    if name == "oracles":
        for oracle in ("auto", *ORACLES):
            yield Campaign(PEOPLE, 0.5, oracle=oracle), ROWS["people"]
            yield Campaign(CODES, 7, oracle=oracle, reports=3), ROWS["codes"]
        yield Campaign(PEOPLE, 1.000001, oracle="the", theta=0.4), ROWS["people"]
    elif name == "numbers":
        for numeric in NUMBERS:
            yield Campaign(NUMBERED, 1, oracle="grr", numeric=numeric), ROWS["numbered"]
            yield Campaign(NUMBERED, 12, oracle="oue", numeric=numeric, reports=3), ROWS["numbered"]
    else:
        yield Campaign(CODES, 30, oracle="grr", reports=5), list(_texts())


def _texts() -> Iterator[dict[str, Any]]:
    """Values of every kind at each feature in turn: what is one category, and what has no place."""
    odd = [None, _NAN, math.inf, -math.inf, True, False, 0, 1, -0.0, 1.0, 2.5, -3, 10**16, 1e16, 1e22, 10**25, 1e-5]
    odd += [
        0.0001,
        1.5e-7,
        "1",
        "01",
        "+1",
        "1.",
        "1.00",
        " 1\n",
        "１",
        "-0",
        "0",
        "1e0",
        "TRUE",
        "true",
        "True",
        "",
        "f",
    ]
    odd += [
        "\x1c2\x85",
        "\ufeff2",
        "ß",
        "\u00e4",
        "a\u0308",
        "?",
        "NaN",
        "inf",
        0.5,
        "0.50",
        1.7976931348623157e308,
        5e-324,
    ]
    for name in [*CODES.names, CODES.target]:
        for value in odd:
            yield {**ROWS["codes"][0], name: value}
    yield {name: value for name, value in ROWS["codes"][0].items() if name != "dose"}


def render(name: str) -> dict[str, Any]:
    """The contents of one file."""
    made, cases = [], []
    for campaign, rows in campaigns(name):
        asked: set[int] = set()
        for place in range(len(rows) if name == "texts" else 60):
            # Rows in turn, with random bytes of their own, until every question of the campaign has been asked.
            random = stream(name if name == "texts" else f"{name} {len(made)} {place}")
            parts = set(campaign.choose(GivenSource(random[ID_BYTES:])))
            if name == "texts" or not parts <= asked:
                row = rows[place if name == "texts" else (len(made) + place) % len(rows)]
                cases.append({"campaign": len(made), "row": plain(row), **answer(campaign, row, random)})
            asked |= parts
        assert len(asked) == len(campaign.questions)
        made.append(campaign.to_dict())
    longest = max((case["random"] for case in cases), key=len)
    if name == "texts":  # one stream serves all
        cases = [{key: value for key, value in case.items() if key != "random"} for case in cases]
    return {"campaigns": made, "cases": cases, "random": longest if name == "texts" else ""}


def answer(campaign: Campaign, row: dict[str, Any], random: bytes) -> dict[str, Any]:
    """What the Python client says, and the random bytes that it took."""
    source = GivenSource(random)
    client = LocalClient(campaign, source=source, memory=None)
    told = {"report": client.report(row).hex(), "words": source.used // 8, "placeless": client.placeless(row)}
    return {"random": random[: source.used].hex(), **told}


def stream(seed: str) -> bytes:
    """Bytes that look random and are the same everywhere."""
    return hashlib.shake_256(seed.encode()).digest(8 * WORDS)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as JSON: what JSON or JavaScript cannot say is written as {"$": text}."""
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$": str(value)}
    if isinstance(value, int) and abs(value) >= 1 << 53:
        return {"$": str(value)}
    return value


def unplain(row: dict[str, Any]) -> dict[str, Any]:
    """Undo `plain`."""
    special = {"nan": _NAN, "inf": math.inf, "-inf": -math.inf}
    return {
        name: special.get(value["$"]) or int(value["$"]) if isinstance(value, dict) else value
        for name, value in row.items()
    }


def write(name: str, contents: dict[str, Any]) -> None:
    """One case or campaign per line."""
    lines = [
        f'"{key}": [\n' + ",\n".join(json.dumps(one, ensure_ascii=True) for one in contents[key]) + "\n]"
        for key in ("campaigns", "cases")
    ]
    lines.append(f'"random": "{contents["random"]}"')
    (HERE / f"{name}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read(name: str) -> Any:
    """The stored contents of one file."""
    return json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
