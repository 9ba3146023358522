"""What commands are given: schemas, rows, places to write to and settings, each refused in one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.terminal import note
from discreet.errors import BudgetError, DiscreetError

if TYPE_CHECKING:
    from discreet.schema import Schema


def load_schema(path: Path | None, *, unsettled: bool = False) -> Schema:
    """The schema that the command was given, or the error that says how to get one; `unsettled` allows open bounds."""
    from discreet.errors import SchemaError
    from discreet.schema import Schema

    if path is None:
        raise SchemaError(
            "a schema is needed: pass --schema FILE, or draft one by 'discreet schema DATA --target COLUMN --out FILE'"
        )
    found = Schema.load(path)
    if found.unsettled and not unsettled:
        raise SchemaError(
            f"the bounds of {found.unsettled[0]!r} are private: find them first by 'discreet bounds DATA --schema "
            f"{path} --epsilon EPSILON --out FILE'"
        )
    return found


def check_out(path: Path | None, *inputs: Any) -> None:
    """Refuse a result that could not be written, or would take the place of an input, before any work is done."""
    if path is None:
        return
    for one in inputs:
        for place in _files_of(one):
            if path.exists() and os.path.samefile(path, place):
                raise DiscreetError(f"{path} is an input of this command: choose another --out")
    if path.exists() and not path.is_file() and not path.is_dir():  # a device or a pipe is written to as it is
        if not os.access(path, os.W_OK):
            raise DiscreetError(f"{path} is not writable: choose another --out")
        return
    if path.is_symlink():
        path = Path(os.path.realpath(path))
    if path.is_dir():
        raise DiscreetError(f"{path} is a directory: --out needs the name of a file")
    if not path.parent.is_dir():
        raise DiscreetError(f"there is no directory {path.parent}: make it first or choose another --out")
    if not os.access(path.parent, os.W_OK):
        raise DiscreetError(f"the directory {path.parent} is not writable: choose another --out")


def _files_of(given: Any) -> list[str]:
    """The files that an input names, if it names any, and the accounts beside them."""
    import glob

    given = getattr(given, "file", given)  # of a table at an address, if its database is a file
    if not isinstance(given, str | Path) or not str(given):
        return []
    names = [str(given), *(glob.glob(str(given)) if glob.has_magic(str(given)) else ())]
    names += [str(one) for one in accounts_beside(str(given))]
    return [name for name in names if os.path.exists(name)]


def accounts_beside(data: Any) -> list[Path]:
    """The accounts that belong to data files by their names: NAME.account beside NAME, NAME.csv or NAME.csv.gz.

    Whatever the suffixes are: `fit` reads files of any name.
    """
    import glob

    data = getattr(data, "file", data)  # of a table at an address, if its database is a file
    found: dict[str, Path] = {}
    if not isinstance(data, str):
        return []
    for name in sorted(glob.glob(data)) if glob.has_magic(data) and not os.path.exists(data) else [data]:
        for place in dict.fromkeys((Path(name), Path(os.path.realpath(name)))):  # a link's own name, and its target's
            stems = [place.name] if place.name else []
            while stems and Path(stems[-1]).suffix:
                stems.append(Path(stems[-1]).stem)
            for stem in stems:
                beside = place.with_name(f"{stem}.account")
                if os.path.lexists(beside):
                    found.setdefault(os.path.realpath(beside), beside)
    return list(found.values())


def kept_in(*folders: Path | None) -> list[Path]:
    """The keys, certificates, ledgers and states in folders."""
    found = [path for folder in folders if folder is not None for path in folder.rglob("*")]
    return [path for path in found if path.suffix in {".key", ".pem", ".pub", ".csr", ".ledger", ".db", ".sqlite"}]


def check_address(text: str) -> str:
    """Refuse what is no HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise DiscreetError(f"{text!r} is no address: write HOST:PORT")
    return text


def located(data: str, table: str | None) -> Any:
    """The rows that a command was given: a file, a table at an address, or - for standard input."""
    from discreet.sources import Address, is_address, spooled

    if data in {"-", "/dev/stdin"}:
        if table is not None:
            raise DiscreetError("--table is for addresses: leave it out where rows come from standard input")
        return spooled(sys.stdin.buffer)
    if is_address(data):
        return Address(data, table or "")
    if table is not None:
        raise DiscreetError(
            "--table is for addresses, such as postgresql://host/name, duckdb:file.db or spark://host:port"
        )
    return data


def check_data(data: Any, schema: Schema, *, labelled: bool = True) -> None:
    """Refuse a file that is not there or lacks a column, before a word about a charge."""
    from discreet.sources import check_columns

    check_columns(data, schema, labelled=labelled)


# Settings of a fit that no other kind of model has.
OF_NAIVE_BAYES = ("mechanism", "numeric", "split", "smoothing", "sensitivity", "estimator")


def estimator(settings: Mapping[str, Any], schema: Schema, seed: int | None = None) -> Any:
    """The estimator of a kind of model, with the settings of the command line that differ from the usual ones.

    A setting that the kind does not have is refused; where no kind was named, a setting of Naive Bayes names it. Kinds
    that are sized by a noisy number of rows are fitted as the automatic choice fits them.
    """
    from discreet.cli.options import SETTINGS
    from discreet.kinds import find

    own = [name for name in OF_NAIVE_BAYES if settings[name] != SETTINGS[name][1]]
    kind = find(("naive-bayes" if own else "auto") if settings["model"] is None else settings["model"])
    changed = {name: value for name, value in settings.items() if name != "model" and value != SETTINGS[name][1]}
    if kind.counted:
        changed["model"], kind = kind.name, find("auto")
    known = kind.make(schema=schema, random_state=seed)
    if hasattr(known, "smooth") and changed.keys() & {"sensitivity", "estimator"}:
        changed |= {f"smooth__{name}": settings[name] for name in ("sensitivity", "estimator")}
        changed = {name: value for name, value in changed.items() if name not in {"sensitivity", "estimator"}}
    for name in sorted({name.partition("__")[0] for name in changed} - set(known.get_params())):
        if name in {"bounds", "edges", "bounds_share"}:
            raise BudgetError(f"a {kind.words} finds no private bounds: find them first by 'discreet bounds'")
        if name == "generative":
            raise BudgetError(
                f"no rows can be drawn from a {kind.words}: leave --model out, or use --model naive-bayes"
            )
        flag = name.replace("_", "-")
        raise BudgetError(f"--{flag} is a setting of Naive Bayes: leave it out, or use --model naive-bayes")
    return known.set_params(**changed)


def warn_inferred(schema: Schema) -> None:
    """Say that a schema was read off the data, if it was."""
    if schema.inferred:
        note(
            "warning: the schema was read off the data (an unedited draft, or bounds found without privacy), and the "
            "certificate says that the data's ranges were disclosed"
        )
