"""discreet account: a budget on disk that every fit of the same people is charged to."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import options
from discreet.cli.terminal import console, note, print_json, table
from discreet.errors import BudgetError

app = typer.Typer(no_args_is_help=True, help="A budget on disk that every fit of the same people is charged to.")
FileArgument = Annotated[Path, typer.Argument(help="An account, such as patients.account beside patients.csv.")]
RULES = {
    "basic": "epsilons and deltas add up",
    "zcdp": "rhos add up, within the rho that epsilon and delta are worth",
    "either": "epsilons and deltas add up, or rhos do beside all deltas: each rule with half of delta",
}


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="The new account; NAME.account beside NAME.csv is found by itself.")],
    epsilon: Annotated[float | None, typer.Option(help="All that may ever be spent.", show_default=False)] = None,
    delta: Annotated[float, typer.Option(help="The chance with which epsilon may be exceeded, in all.")] = 0.0,
    rho: Annotated[float | None, typer.Option(help="A budget of zCDP instead of epsilon.", show_default=False)] = None,
    people: Annotated[
        str | None, typer.Option(help="The id column that tells people apart: schemas must then declare it.")
    ] = None,
    adjacency: Annotated[
        str | None,
        options.one_of(
            *options.ADJACENCIES, help="Neighbours that costs are counted for; else the first charge decides."
        ),
    ] = None,
    contributions: Annotated[
        int | None, typer.Option(help="Rows per person that costs are counted for; else the first charge decides.")
    ] = None,
    composition: Annotated[
        str | None, options.one_of(*RULES, help="How charges add up if there is a delta; 'either' unless told.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Make an account; an existing file is never touched."""
    from discreet.privacy import Account, Budget

    if (epsilon is None) == (rho is None):
        raise BudgetError("say what may be spent: --epsilon (with or without --delta) or --rho")
    made = Account.create(
        file, Budget(epsilon, delta) if rho is None else Budget(rho=rho, delta=delta), people,
        adjacency, contributions, composition,
    )  # fmt: skip
    if as_json:
        print_json(_facts(made))
        return
    console().print(f"made {file}: {made.budget} in all")
    console().print(f"head {made.head}")
    console().print(f"try 'discreet fit DATA --schema FILE --account {file} --out model.json'")


@app.command()
def show(file: FileArgument, as_json: options.Json = False) -> None:
    """Show what an account holds, what is spent and what would still fit."""
    from discreet.privacy import Account

    facts = _facts(Account.open(file))
    if as_json:
        print_json(facts)
        return
    screen = console()
    words = {
        "budget": facts["budget"],
        "composition": f"{facts['composition']}: {RULES[facts['composition']]}",
        "counted for": facts["unit"] or "whom the first charge says",
        "people": "not told apart by the account" if facts["people"] is None else f"by the column {facts['people']!r}",
        "charges": str(facts["entries"]),
        "spent": facts["spent_text"],
        "would still fit": facts["room"]["text"],
        "head": facts["head"],
    }
    screen.print(table(str(file), ["", ""], [[key, value] for key, value in words.items()], left=2))


@app.command()
def log(file: FileArgument, as_json: options.Json = False) -> None:
    """List every charge of an account."""
    from discreet.privacy import Account
    from discreet.privacy.account import SHORT

    state = Account.open(file).state()
    entries = state.entries
    if as_json:
        print_json([{**_entry(one), "unused": one.hash in state.unused} for one in entries])
        return
    rows = [
        [str(one.number), one.when, one.label, str(one.grant), (one.schema or "-")[:12], one.hash[:12]]
        for one in entries
    ]
    heads = ["charge", "when", "what", "cost", "schema", "hash"]
    console().print(table(_charges(entries), heads, rows, left=6))
    for one in entries:
        if one.hash in state.unused:
            note(f"note: nothing was released for charge {one.number}: --resume-charge {one.hash[:SHORT]} uses it")


@app.command()
def verify(
    file: FileArgument,
    head: Annotated[
        str | None, typer.Option(help="A head that was printed earlier: the chain must still pass through it.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Check that no charge was edited, removed or reordered."""
    from discreet.privacy import Account

    state = Account.open(file).verify(head)
    if as_json:
        print_json({"entries": len(state.entries), "head": state.head, "anchored": head is not None})
        return
    console().print(f"{_charges(state.entries)}, each bound to the one before it; none was changed")
    console().print(f"head {state.head}")
    if head is None:
        note("note: keep the head elsewhere and check it by --head: a file replaced as a whole shows by it alone")


def _facts(account: Any) -> dict[str, Any]:
    from discreet.privacy.composition import below

    state = account.state()
    rule, totals = state.composition, state.totals
    room, spent, budget = rule.room(totals), rule.spent(totals), rule.budget
    pair = room.approximate
    return {
        "account": account.path,
        "budget": str(budget),
        "epsilon": _text(budget.epsilon), "delta": _text(budget.delta), "rho": _text(budget.rho),
        "composition": rule.rule,
        "people": state.header["people"],
        "unit": state.unit,
        "entries": len(state.entries),
        "totals": {"epsilon": _text(totals.epsilon), "delta": _text(totals.delta), "rho": _text(totals.rho)},
        "spent": _text(spent),
        "spent_text": f"{'epsilon' if budget.rho is None else 'rho'} = {float(spent):.6g} of {budget}",
        "remaining": _text((budget.epsilon if budget.rho is None else budget.rho) - spent),
        "room": {
            "epsilon": None if room.epsilon is None else below(room.epsilon),
            "approximate": None if pair is None else {"epsilon": below(pair.epsilon), "delta": below(pair.delta)},
            "rho": None if room.rho is None else below(room.rho),
            "text": str(room),
        },
        "head": state.head,
    }  # fmt: skip


def _entry(entry: Any) -> dict[str, Any]:
    cost = entry.grant
    return {
        "number": entry.number, "when": entry.when, "label": entry.label, "unit": entry.unit, "schema": entry.schema,
        "epsilon": _text(cost.epsilon), "delta": _text(cost.delta), "rho": _text(cost.rho), "node": entry.node,
        "hash": entry.hash,
    }  # fmt: skip


def _charges(entries: Sized) -> str:
    return f"{len(entries)} charge{'' if len(entries) == 1 else 's'}"


def _text(amount: Any) -> str | None:
    return None if amount is None else str(amount)
