"""Pages are followed in a process of their own, whose packages are those of the reader: one line of JSON for each."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import json
import os
import shlex
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from typing import Any

from tests.docs.blocks import blocks, extras
from tests.docs.given import WHOLE, names, prepare
from tests.reader import hide_the_rest


def command(line: str) -> None:
    """Type one line: this package's command, perhaps with a pipe before it or a file after it, or a variable."""
    words = shlex.split(line, comments=True)
    if words[0] == "export":
        for word in words[1:]:
            os.environ.update([word.split("=", 1)])
        return
    if words[0] == "zcat":
        sys.stdin = io.TextIOWrapper(io.BytesIO(gzip.decompress(Path(words[1]).read_bytes())))
        words = words[words.index("|") + 1 :]
    out = None
    if ">" in words:
        words, (out,) = words[: words.index(">")], words[words.index(">") + 1 :]
    assert words[0] == "discreet", f"no command of this package: {line}"
    from discreet.cli import main

    sys.argv = words
    said = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(said):
        try:
            main()
        except SystemExit as end:
            assert not end.code, f"{line} ends with {end.code}"
        said.flush()
        answer = said.buffer.getvalue()
    sys.stdout.write(answer.decode("utf-8"))
    if out is not None:
        Path(out).write_bytes(answer)
    for option, name in itertools.pairwise(words):
        if option in {"--out", "--plot"}:
            made = Path(name)
            assert any(made.iterdir()) if made.is_dir() else made.stat().st_size, f"{line} wrote no {name}"


def follow(page: str, space: dict[str, Any]) -> int:
    """Run what the page does not mark, in order; how many blocks that were."""
    count = 0
    for block in blocks(page):
        if block.mark:
            continue
        count += 1
        if block.kind == "python":
            exec(compile(block.text, page, "exec", dont_inherit=True), space)
        elif block.kind == "console":
            for line in block.text.replace("\\\n", " ").splitlines():
                if line.startswith("$ "):
                    command(line.removeprefix("$ "))
        elif block.kind == "toml":
            from discreet import Schema

            Path("page.toml").write_text(block.text)
            Schema.load("page.toml")
        else:
            raise AssertionError(f"nothing is known about running a block of {block.kind!r}: {block.first}")
    return count


def main(wanted: list[str]) -> None:
    """Follow pages that name the same extras, each in a folder of its own."""
    (needed,) = {extras(page) for page in wanted}
    hidden = hide_the_rest(needed)
    with tempfile.TemporaryDirectory() as whole:
        os.chdir(whole)
        os.environ["XDG_STATE_HOME"] = whole
        os.environ["MPLBACKEND"] = "Agg"
        template = Path(whole, "template")
        template.mkdir()
        prepare(template)
        for page in wanted:
            place = Path(whole, page.replace("/", "-"))
            alone = page.startswith(WHOLE)
            place.mkdir() if alone else shutil.copytree(template, place)
            os.chdir(place)
            kept, stdin = dict(os.environ), sys.stdin
            os.environ["XDG_STATE_HOME"] = str(place / "state")
            error = ""
            answers, said = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(answers), contextlib.redirect_stderr(said):
                try:
                    count = follow(page, {"__name__": "page"} if alone else {"__name__": "page", **names(page)})
                except BaseException:
                    count, error = 0, traceback.format_exc()[-3000:] + said.getvalue()[-1000:]
            os.environ.clear()
            os.environ.update(kept)
            sys.stdin = stdin
            found = {
                "page": page,
                "blocks": count,
                "error": error,
                "said": answers.getvalue(),
                "hidden": sorted(hidden),
            }
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
