"""Every block of every page runs: in its reader's environment here, by a test that the page names, or on one list."""

import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict

import click
import pytest
import typer.main

from discreet.cli import app
from tests.docs.blocks import ROOT, blocks, extras, indented, pages
from tests.docs.unrun import UNRUN

OPTIONAL = {"pandas", "polars", "cryptography", "flwr", "grpc", "matplotlib", "starlette", "psycopg"}
BROUGHT = {"frames": {"pandas", "polars"}, "plot": {"matplotlib"}, "postgres": {"psycopg"}, "report": set(),
           "secure": {"cryptography"}, "federated": {"cryptography", "flwr", "grpc", "starlette"}}  # fmt: skip

SAID = {  # what readers are told that they will see
    "tutorials/central.md": ("\n0\n", "\njoint: 3 feature(s) and about", "violated"),
    "how-to/install.md": ("discreet ",),
    "streams.md": ("2 epsilon = 1",),
    "unexpected.md": ("has no place in the schema",),
}


def groups():
    """Pages by the extras that their reader has; one process follows all pages of a group."""
    found = defaultdict(list)
    for page in pages():
        if any(not block.mark for block in blocks(page)):
            found[extras(page)].append(page)
    return dict(found)


@pytest.mark.parametrize("needed", groups(), ids="+".join)
def test_pages_run_from_top_to_bottom_in_their_readers_environment(needed):
    wanted = groups()[needed]
    done = subprocess.run(
        [sys.executable, "-m", "tests.docs.follow", *wanted], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["page"] for one in told] == wanted
    brought = set().union(*(BROUGHT[extra] for extra in needed))
    for one in told:
        assert not one["error"], f"{one['page']}: {one['error']}"
        assert one["blocks"] == sum(not block.mark for block in blocks(one["page"])) > 0
        assert set(one["hidden"]) & OPTIONAL == OPTIONAL - brought
        for words in SAID.get(one["page"], ()):
            assert words in one["said"], one["page"]


def test_what_is_not_run_is_on_the_list_with_the_reason_of_its_page():
    found = {page: [block.why for block in blocks(page) if block.mark == "not run"] for page in pages()}
    assert {page: reasons for page, reasons in found.items() if reasons} == UNRUN


def test_what_another_test_runs_is_read_by_that_test():
    for page in pages():
        for block in blocks(page):
            if block.mark == "run by":
                test = ROOT / block.why
                assert test.is_file(), f"{page}: {block.first}"
                assert page.rpartition("/")[2] in test.read_text("utf-8"), f"{test.name} does not read {page}"


def test_no_block_escapes():
    for page, path in pages().items():
        text = path.read_text(encoding="utf-8")
        assert not indented(page), f"{page}: put commands between fences"
        assert len(re.findall(r"^ *```", text, re.MULTILINE)) == 2 * len(list(blocks(page))), page
        assert len(re.findall(r"<!-- (?:not run|run by):", text)) == sum(bool(block.mark) for block in blocks(page)), (
            page
        )
        assert all(block.mark or block.kind in {"python", "console", "toml"} for block in blocks(page)), page
        for block in blocks(page):
            if block.kind == "console" and not block.mark:
                assert any(line.startswith("$ ") for line in block.text.splitlines()), f"{page}: {block.first}"


def test_commands_that_are_not_run_exist_with_their_options():
    checked = 0
    for page in pages():
        for block in blocks(page):
            lines = block.text.replace("\\\n", " ").splitlines() if block.mark == "not run" else ()
            for line in lines:
                words = shlex.split(line.removeprefix("$ "), comments=True)
                if words[:1] == ["discreet"]:
                    command, rest = typer.main.get_command(app), words[1:]
                    while isinstance(command, click.Group):
                        command, rest = command.commands[rest[0]], rest[1:]
                    known = {name for one in command.params for name in (*one.opts, *one.secondary_opts)}
                    assert {word for word in rest if word.startswith("-") and len(word) > 1} <= known, line
                    checked += 1
    assert checked > 20
