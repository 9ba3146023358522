"""Running the commands: every expected failure is one sentence and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import click

from discreet.cli import waiting
from discreet.cli.paying import used
from discreet.cli.terminal import note
from discreet.errors import BudgetError, DiscreetError

ASKED = "Did you mean"


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
    used.clear()
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
        said = ASKED.join(error.format_message().split(ASKED)[:2])  # what two libraries may both ask, once
        note(f"error: {said.strip().rstrip('.')} (see '{known} --help')")
        return 2
    except (click.exceptions.Abort, EOFError):
        note("stopped: an answer was needed, and none came; no file was changed")
        return 1
    except DiscreetError as error:
        hint = f" (see 'discreet {_asked()} --help')" if isinstance(error, BudgetError) else ""
        note(f"error: {error}{hint}")
        for one in used:
            if one.charges:
                note(f"note: {one.path} was charged before the rows were read, and stays charged; what would still fit "
                     f"is {one.room}")  # fmt: skip
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is still to be flushed
        return 141
    except KeyboardInterrupt:
        charged = "no result was written; what was charged stays charged"
        note(f"stopped: {charged if used else 'no file was changed'}")
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
