"""What commands spend: the account beside the data, what is left of it, and what an epsilon means in words."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.common import accounts_beside, check_data
from discreet.cli.terminal import note, progress
from discreet.errors import BudgetError, ConnectionLostError

if TYPE_CHECKING:
    from discreet.schema import Schema


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


def tell_uncharged(data: Any) -> None:
    """Say of the accounts beside the rows of a later step that it is not charged to them."""
    for one in accounts_beside(data):
        note(f"note: this step is not charged to {one}, which lies beside its rows: its stream was charged whole")


def _account_for(data: Any, account: Path | None, no_account: bool, what: str) -> Any:
    places = data if isinstance(data, list) else [data]  # each step of a stream has rows of its own
    beside = list({os.path.realpath(one): one for place in places for one in accounts_beside(place)}.values())
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
        used.append(found)
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
    used.append(found)
    return found


used: list[Any] = []  # the accounts that this command may have charged


def tell_room(account: Any) -> None:
    """Say what an account that was charged has left."""
    if account is not None:
        note(f"note: {account.path} was charged; what would still fit is {account.room}")


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
