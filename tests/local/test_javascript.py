"""The JavaScript client: the same bytes as the Python client from the same random bytes, and its own promises."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

import discreet
from discreet import Categorical, Numeric, Schema
from discreet.errors import BudgetError
from discreet.local.campaign import Campaign
from discreet.local.fingerprint import fingerprint
from discreet.local.javascript import client_module
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import ORACLES
from tests.local.vectors.make import FILES, answer, plain, read, render, stream, unplain

HERE = Path(__file__).parent
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
SAME = ("report", "words", "placeless")


def ask_node(contents: dict[str, Any]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [str(NODE), str(HERE / "answers.mjs")], input=json.dumps(contents), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def compare(contents: dict[str, Any], answers: list[dict[str, Any]]) -> None:
    assert len(answers) == len(contents["cases"])
    for case, other in zip(contents["cases"], answers, strict=True):
        if "\\" in "".join(case["placeless"]):  # only Python shows invisible characters by their number
            case, other = ({**one, "placeless": len(one["placeless"])} for one in (case, other))
        assert {key: case.get(key) for key in SAME} == {key: other.get(key) for key in SAME}, case["row"]


@pytest.mark.parametrize("name", FILES)
def test_python_reproduces_the_vectors(name: str) -> None:
    stored = read(name)
    assert render(name) == stored
    loaded = [Campaign(Schema.from_dict(c["schema"]), c["epsilon"], **settings(c)) for c in stored["campaigns"]]
    for case in stored["cases"]:
        given = bytes.fromhex(case.get("random", stored["random"]))
        told = answer(loaded[case["campaign"]], unplain(case["row"]), given)
        assert {key: told.get(key) for key in SAME} == {key: case.get(key) for key in SAME}


def settings(campaign: dict[str, Any]) -> dict[str, Any]:
    return {key: campaign[key] for key in ("oracle", "numeric", "reports", "theta")}


@needs_node
@pytest.mark.parametrize("name", FILES)
def test_javascript_reproduces_the_vectors(name: str) -> None:
    stored = read(name)
    compare(stored, ask_node(stored))


def test_vectors_cover_every_mechanism() -> None:
    asked = {q["code"] for name in FILES for campaign in read(name)["campaigns"] for q in campaign["questions"]}
    assert asked == {kind.code for kinds in (ORACLES, NUMBERS) for kind in kinds.values()}


@needs_node
def test_random_cases_agree() -> None:
    """Many campaigns, rows and random bytes: both clients say the same, about values without a place too."""
    rng = random.Random(20200217)
    campaigns, cases = [], []
    while len(campaigns) < 120:
        try:
            campaign = some_campaign(rng)
        except BudgetError:  # too many reports, or too wide ones
            continue
        for _ in range(6):
            row = {feature.name: some_value(rng, feature) for feature in campaign.schema.features}
            row[campaign.schema.target] = some_value(rng, campaign.schema.label)
            told = answer(campaign, row, stream(f"{rng.random()}"))
            cases.append({"campaign": len(campaigns), "row": plain(row), **told})
        campaigns.append(campaign.to_dict())
    contents = {"campaigns": campaigns, "cases": cases}
    assert sum(not case["placeless"] for case in cases) > 300
    assert sum(bool(case["placeless"]) for case in cases) > 50
    compare(contents, ask_node(contents))


CATEGORIES = [
    *(["a", "b"], [0, 1], [True, False], [3, "x", True, "0.1"], list(range(-5, 60)), ["1.0", "0"], ["true", "False"]),
    *(["1", "True", "1.0"], [7, "1", "01"], ["0.10", "1e+20", "1e-07", "inf"], ["9007199254740993", "2"]),
]


def some_campaign(rng: random.Random) -> Campaign:
    features: list[Any] = []
    for j in range(rng.randint(1, 4)):
        if rng.random() < 0.5:
            lower = rng.choice([0, -1, -1000, 0.1, -1e-3, 1e6, rng.uniform(-9, 9)])
            upper = lower + rng.choice([1, 2, 7, 1e-3, 1e5, rng.uniform(0.01, 50)])
            whole = float(lower).is_integer() and float(upper).is_integer() and rng.random() < 0.6
            kind = {"integer": whole, "missing": rng.choice(["error", "error", "bin"])}
            features.append(Numeric(f"f{j}", lower, upper, bins=rng.randint(1, 12), **kind))
        else:
            categories = rng.choice(CATEGORIES)
            other, missing = rng.choice([None, "rest"]), rng.choice(["error", "category"])
            features.append(Categorical(f"f{j}", categories, other=other, missing=missing))
    classes = rng.choice([["no", "yes"], [0, 1, 2], [True, False], [-1, "1.5", "ja"]])
    return Campaign(
        Schema(features, target="y", classes=classes),
        rng.choice([0.01, 0.3, 1, 2, 5.25, 12, 30, rng.uniform(0.001, 30)]),
        oracle=rng.choice(["auto", *ORACLES]),
        numeric=rng.choice(("bins", *NUMBERS)),
        reports=rng.choice([1, 1, 2, 3]),
    )


def some_value(rng: random.Random, feature: Any) -> Any:
    if rng.random() < 0.08:
        return rng.choice([None, math.nan, math.inf, "?", "", True, 10**20, 0.25, " 1 ", "1.0", "TRUE", 1, 0.0, False])
    if feature.kind == "categorical":
        value = rng.choice(feature.categories)
        return rng.choice([value, value, str(value), float(value) if type(value) is int else value])
    edge = rng.choice(feature.edges)
    half_way = feature.lower + (rng.randint(0, 60) + 0.5) * float(feature.lattice.step)
    return rng.choice([edge, half_way, feature.lower - 1, feature.upper + 1, rng.uniform(feature.lower, feature.upper)])


@needs_node
def test_fingerprints_are_the_same_in_both_languages() -> None:
    campaigns = [campaign for name in FILES for campaign in read(name)["campaigns"]]
    odd = {"é": 1, "𝒳": [0.1, -0.0, 1e300, None, True, ""], "\uffff": {}, "ab": "ä\x00", "a": [[]]}
    program = (
        f"import {{ fingerprint }} from {json.dumps(str(HERE.parents[1] / 'src/discreet/local/js/client.mjs'))};"
        "import { readFileSync } from 'node:fs';"
        "console.log(JSON.parse(readFileSync(0, 'utf8')).map(fingerprint).join(' '))"
    )
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", program], input=json.dumps([*campaigns, odd]), capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.split() == [fingerprint(one) for one in [*campaigns, odd]], done.stderr
    loaded = Campaign(Schema.from_dict(campaigns[3]["schema"]), campaigns[3]["epsilon"], **settings(campaigns[3]))
    assert loaded.fingerprint == fingerprint(campaigns[3])
    assert loaded.pin == fingerprint({name: campaigns[3][name] for name in ("schema", "columns", "target")})


@needs_node
@pytest.mark.parametrize("name", ["client_test.mjs", "refusals_test.mjs"])
def test_promises_of_the_javascript_client(name: str) -> None:
    done = subprocess.run([str(NODE), "--test", str(HERE / name)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout


def test_module_is_installed_with_the_package() -> None:
    folder = resources.files(discreet) / "local" / "js"
    module = (folder / "client.mjs").read_text("utf-8")
    package = json.loads((folder / "package.json").read_text("utf-8"))
    assert package["version"] == discreet.__version__
    assert package["exports"] == "./client.mjs"
    assert "dependencies" not in package
    assert module == client_module(), "stale tables: python -m discreet.local.javascript"
    for line in module.splitlines():  # browsers have no node: modules, and nothing else is at hand there
        assert not line.startswith("import ")
        assert "require(" not in line
    for float_function in ("Math.exp", "Math.log", "Math.pow"):
        assert float_function not in module


_STUBS = """
const kept = {};
globalThis.localStorage = { getItem: (key) => kept[key] ?? null, setItem: (key, value) => { kept[key] = value; } };
globalThis.fetch = async (url, request) =>
  Response.json(request ? { accepted: 1, replayed: 0 } : JSON.parse(readFileSync("campaign.json", "utf8")));
"""


@needs_node
def test_page_about_the_client_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (HERE.parents[1] / "docs" / "javascript-client.md").read_text("utf-8")
    blocks = {kind: re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "js")}
    monkeypatch.chdir(tmp_path)
    for block in blocks["python"]:
        exec(block, {})
    assert Campaign.load("campaign.json").epsilon == 1
    shutil.copy(str(resources.files(discreet) / "local" / "js" / "client.mjs"), "client.mjs")
    Path("page.mjs").write_text('import { readFileSync } from "node:fs";' + _STUBS + "".join(blocks["js"]), "utf-8")
    done = subprocess.run([str(NODE), "page.mjs"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"1\n\d+ 1\n", done.stdout)
