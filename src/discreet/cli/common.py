"""What the commands share: estimators, tables, progress and the one-sentence errors."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import waiting
from discreet.errors import BudgetError, ConnectionLostError, DiscreetError

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


def account_for(
    data: Any, account: Path | None, no_account: bool = False, resume_charge: str | None = None, *,
    what: str = "discreet",
) -> Any:  # fmt: skip
    """The account that a command is charged to: the one it was given, else the one beside the data, else None.

    `what` is what the account's log says. A remark on standard error tells which account it is, or that a charge is
    left out.
    """
    if account is not None and no_account:
        raise BudgetError("--account and --no-account contradict each other: leave one of them out")
    found = _account_for(data, account, no_account, what)
    if resume_charge is not None:
        if found is None:
            raise BudgetError("--resume-charge needs the account that was charged: name it by --account")
        found.resume(resume_charge)
    return found


def _account_for(data: Any, account: Path | None, no_account: bool, what: str) -> Any:
    beside = accounts_beside(data)
    if no_account:
        for one in beside:
            note(
                f"warning: nothing is charged to {one}: what this command spends is forgotten, and the account's "
                "promise does not cover it"
            )
        return None
    from discreet.privacy import Account

    if account is not None:
        found = Account.open(account, label=what)
        _used.append(found)
        for one in beside:
            if not one.exists() or not os.path.samefile(one, found.path):
                note(f"note: {one} lies beside the data, but {account} is charged, as you said")
        return found
    if len(beside) > 1:
        names = ", ".join(str(one) for one in beside)
        raise BudgetError(f"several accounts lie beside the data ({names}): say which by --account")
    if not beside:
        return None
    note(f"note: this will be charged to {beside[0]}, which lies beside the data")
    found = Account.open(beside[0], label=what)
    _used.append(found)
    return found


_used: list[Any] = []  # the accounts that this command may have charged


def tell_room(account: Any) -> None:
    """Say what an account that was charged has left."""
    if account is not None:
        note(f"note: {account.path} was charged; what would still fit is {account.room}")


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


def spent(certificate: Any) -> str:
    """What a certificate says that was spent, in words."""
    from discreet.privacy.budget import Budget

    return str(Budget(math.inf if certificate.epsilon is None else certificate.epsilon, certificate.delta))


def odds(budget: Any) -> str:
    """What ε means for one person, in a sentence."""
    if budget.epsilon is None:
        return "without privacy: the model may say anything about anybody"
    epsilon = float(budget.epsilon)
    factor = math.exp(min(epsilon, 700.0))
    told = f"{factor:.3g}" if factor < 1e6 else f"e^{epsilon:g}"
    but = "" if not budget.delta else f", except with a chance of about {float(budget.delta):g}"
    return (
        f"epsilon = {epsilon:g} means: whoever studies the result, whatever they know besides, can change their odds "
        f"that a given person is in the data by a factor of at most {told}{but}; a guess that was even before is right "
        f"in at most {100 * factor / (1 + factor):.4g} % of cases"
    )


def warn_weak(certificate: Any) -> None:
    """Say that an ε is so large that it promises next to nothing."""
    epsilon = certificate.epsilon_value
    if epsilon is not None and math.isfinite(epsilon) and epsilon > WEAK:
        note(
            f"warning: epsilon = {epsilon:g} is no meaningful protection: odds about a person may change by a factor "
            f"of e^{epsilon:g}; values between 0.1 and 10 are usual"
        )


WEAK = 20.0  # e^20 is 485 million to one


def clean(value: Any) -> Any:
    """Plain values without NaN and infinity, which JSON has no words for."""
    if isinstance(value, dict):
        return {key: clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    from discreet.values import unicode

    waiting.end()
    sys.stdout.write(unicode(json.dumps(clean(value), indent=2, ensure_ascii=False)) + "\n")


def console() -> Any:
    """Where text for people goes."""
    from rich.console import Console

    waiting.end()

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # for `run`, instead of an exit of rich's own

    width = None if sys.stdout.isatty() else 160  # a file or a pipe has no edge to fold at
    return Screen(highlight=False, soft_wrap=True, markup=False, width=width)


def folded(words: str, indent: int) -> str:
    """Words that begin at an indent, folded there between words if a terminal shows them."""
    if not sys.stdout.isatty():
        return words
    import shutil
    import textwrap

    width = max(shutil.get_terminal_size().columns - indent, 20)
    return ("\n" + " " * indent).join(textwrap.wrap(words, width, break_on_hyphens=False) or [""])


def note(message: str) -> None:
    """A remark for a person, kept out of standard output."""
    waiting.end()
    sys.stderr.write(message + "\n")


def warn_inferred(schema: Schema) -> None:
    """Say that a schema was read off the data, if it was."""
    if schema.inferred:
        note(
            "warning: the schema was read off the data (an unedited draft, or bounds found without privacy), and the "
            "certificate says that the data's ranges were disclosed"
        )


def table(title: str, columns: list[str], rows: list[list[str]], *, left: int = 1) -> Any:
    """A table for people; all but the first columns are right-aligned."""
    from rich.table import Table
    from rich.text import Text

    result = Table(title=Text(title), title_justify="left", box=None, pad_edge=False, header_style="bold")
    for i, column in enumerate(columns):
        result.add_column(Text(column), justify="left" if i < left else "right", overflow="fold")
    for row in rows:
        result.add_row(*(Text(cell) for cell in row))
    return result


@contextmanager
def progress(label: str, *, quiet: bool = False) -> Iterator[Any]:
    """A progress callback (rows done, rows in all if known) drawn as a bar on a terminal's standard error."""
    from rich.console import Console

    screen = Console(stderr=True)
    if quiet or not screen.is_terminal:
        yield None
        return
    waiting.end()
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def reading(data: Any) -> str:
    """What is done to rows, in words for a bar: where an engine works beside them, it counts its own steps."""
    if getattr(data, "cluster", False):
        return "tasks on the cluster"
    server = getattr(data, "address", "").startswith("postgres")
    return "counting in the database" if server else "reading rows"


@contextmanager
def charged(
    data: Any, schema: Schema, paying: Mapping[str, Any], what: str, unexpected: str, *, quiet: bool,
    labelled: bool = True, doing: str | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """What a command that reads private rows hands on: the account and the progress; afterwards it says what is left.

    The rows' file is looked at by its names alone, before anything is charged.
    """
    check_data(data, schema, labelled=labelled)
    account = account_for(data, **paying, what=what)
    try:
        with absorbing(unexpected), progress(doing or reading(data), quiet=quiet) as report:
            yield {"account": account, "progress": report}
    except ConnectionLostError as error:
        # The sentence that follows is the same whatever the rows hold, and nothing else was or will be put out.
        charge = None if account is None else account.give_up(error)
        if charge is not None:
            note(f"note: {account.path} was charged, and nothing was released for it: repeat this command with "
                 f"--resume-charge {charge}, which uses that charge")  # fmt: skip
        raise
    tell_room(account)


@contextmanager
def absorbing(policy: str) -> Iterator[None]:
    """Say on standard error what was absorbed meanwhile, in exact numbers that are not for publication."""
    from discreet.sources import Absorbed, watching

    with watching() as readings:
        yield
    if policy == "absorb" and readings:
        whole = Absorbed()
        whole.include(readings)
        note(f"{whole} (exact numbers of the private rows, for the holder of the data only)")


def _asked() -> str:
    """The command that was asked for."""
    words = []
    for word in sys.argv[1:3]:
        if not word.isalpha():
            break
        words.append(word)
    if not words:
        return "plan"
    return " ".join(words if words[0] in {"account", "local", "federate", "gossip"} else words[:1])


def run(app: Callable[[], Any]) -> int:
    """Run the commands, which leave errors to this; every expected failure is one sentence and exit code 2."""
    _used.clear()
    waiting.begin()
    try:
        ended = app()
        sys.stdout.flush()
    except click.exceptions.Exit as ended_early:
        return ended_early.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stderr.write(error.format_message())  # nothing, if the help was printed already
        return 2
    except click.UsageError as error:
        known = error.ctx.command_path if error.ctx else "discreet"
        note(f"error: {error.format_message().rstrip('.')} (see '{known} --help')")
        return 2
    except (click.exceptions.Abort, EOFError):
        note("stopped: an answer was needed, and none came; no file was changed")
        return 1
    except DiscreetError as error:
        hint = f" (see 'discreet {_asked()} --help')" if isinstance(error, BudgetError) else ""
        note(f"error: {error}{hint}")
        for one in _used:
            if one.charges:
                note(f"note: {one.path} was charged before the rows were read, and stays charged; what would still fit "
                     f"is {one.room}")  # fmt: skip
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
        return 141
    except KeyboardInterrupt:
        charged = "no result was written; what was charged stays charged"
        note(f"stopped: {charged if _used else 'no file was changed'}")
        return 130
    except OSError as error:
        name = f" {error.filename}" if error.filename else ""
        note(f"error: {error.strerror or error}{name}")
        return 2
    except MemoryError:
        note("error: the memory does not suffice: pass a file instead of a larger table, or fewer columns")
        return 2
    finally:
        waiting.end()
    return ended if isinstance(ended, int) else 0
