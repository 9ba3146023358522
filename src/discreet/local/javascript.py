"""The JavaScript client's tables: what it must know of the wire and of every mechanism, written from the registry.

`python -m discreet.local.javascript` writes them into the committed `js/client.mjs`; servers hand out the client with
the mechanisms of plug-ins in it.
"""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from discreet.local.chances import LARGEST
from discreet.local.mechanism import Mechanism
from discreet.local.numbers import NUMBERS
from discreet.local.oracles import ORACLES
from discreet.local.wire.report import HEAD, LONGEST, MARKER, MILLION, SCHEMA_BYTES

_PART = re.compile(r"(// <(\w+)> written by [^\n]*\n).*?(?=// </\2>)", re.DOTALL)


def client_module() -> str:
    """The client with the tables of all registered mechanisms."""
    kinds: list[type[Mechanism]] = [*ORACLES.values(), *NUMBERS.values()]
    parts = {"constants": _constants(kinds), "mechanisms": _mechanisms(kinds)}
    given = files("discreet.local").joinpath("js", "client.mjs").read_text("utf-8")
    return _PART.sub(lambda found: found[1] + parts[found[2]], given)


def _constants(kinds: list[type[Mechanism]]) -> str:
    wire = {
        "MILLION": f"{MILLION}n",
        "LARGEST_EPSILON": f"{LARGEST}n",
        "LONGEST": str(LONGEST),
        "MARKER": str(list(MARKER)),
        "SCHEMA_BYTES": str(SCHEMA_BYTES),
        "HEAD": str(HEAD),
    }
    given = {name: value for kind in kinds for name, value in kind.literals.items()}
    return "".join(f"const {name} = {value};\n" for name, value in {**wire, **given}.items())


def _mechanisms(kinds: list[type[Mechanism]]) -> str:
    sources = "".join(f"{text.strip()}\n" for text in dict.fromkeys(kind.javascript for kind in kinds) if text)
    table = "".join(f"  {kind.code}: {kind.script},\n" for kind in kinds)
    lists = {
        "NUMBERS": [kind.code for kind in NUMBERS.values()],
        "AT_ONCE": [kind.code for kind in NUMBERS.values() if kind.at_once],
        "SIGNS": [kind.code for kind in ORACLES.values() if kind.signs],
    }
    rest = "".join(f"const {name} = {codes};\n" for name, codes in lists.items())
    return f"{sources}/** @type {{Record<number, Mechanism>}} */\nconst MECHANISMS = {{\n{table}}};\n{rest}"


if __name__ == "__main__":
    Path(str(files("discreet.local").joinpath("js", "client.mjs"))).write_text(client_module(), "utf-8")
