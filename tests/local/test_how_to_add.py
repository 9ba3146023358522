"""The page that says how to add an oracle is followed literally: one new file, and no line elsewhere."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import blocks

NODE = shutil.which("node")
# A directory more where the room's modules lie: what a file put there would see.
FOLLOW = """
import json, sys
from pathlib import Path
import discreet.local.oracles as room
room.__path__.append(sys.argv[1])
space = {"__name__": "page"}
for block in json.load(sys.stdin):
    exec(compile(block, "oracle.md", "exec"), space)
from discreet.local import Campaign, LocalClient
from discreet.local.entropy import GivenSource
from discreet.local.javascript import client_module
from discreet.local.oracles.blend import Blend
campaign, raw = Campaign(space["schema"], 1, oracle="blend"), bytes(range(256)) * 4
row = {"drink": "water", "ill": "yes"}
frames = [LocalClient(campaign, source=GivenSource(raw[i:]), memory=None).report(row).hex() for i in range(40)]
there = Path(sys.argv[1])
(there / "client.mjs").write_text(client_module(), "utf-8")
(there / "case.json").write_text(json.dumps({"campaign": campaign.to_dict(), "row": row, "raw": list(raw)}))
print(json.dumps(frames))
"""
DRAW = """
import { readFileSync } from "node:fs";
import { LocalClient, givenWords } from "./client.mjs";
const { campaign, row, raw } = JSON.parse(readFileSync("case.json", "utf8"));
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const draw = (i) => hex(new LocalClient(campaign, { words: givenWords(Uint8Array.from(raw.slice(i))) }).report(row));
console.log(JSON.stringify(Array.from({ length: 40 }, (_, i) => draw(i))));
const lie = structuredClone(campaign);
lie.questions[0].constants.kept = String(BigInt(lie.questions[0].constants.kept) + 1n);
try { new LocalClient(lie); console.log("believed"); } catch (error) { console.log(error.name); }
"""


def test_the_page_adds_an_oracle_with_one_file(tmp_path: Path) -> None:
    module, *rest = blocks("how-to-add/oracle.md")
    assert len(rest) >= 4
    (tmp_path / "blend.py").write_text(module, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW, str(tmp_path)], input=json.dumps(rest), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    if NODE is None:
        pytest.skip("node is not installed: the client in JavaScript was not run")
    (tmp_path / "draw.mjs").write_text(DRAW, "utf-8")
    drawn = subprocess.run([NODE, "draw.mjs"], cwd=tmp_path, capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    reports, refused = drawn.stdout.splitlines()
    assert json.loads(reports) == json.loads(done.stdout)
    assert len(set(json.loads(reports))) == 40
    assert refused == "CampaignError"
