"""The certifier: every clause that stands in every certificate is derived here, so that no release can forget one."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from fractions import Fraction
from functools import cache
from importlib.metadata import version

from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import NOBODY, NOTHING, Certificate, paid_elsewhere, record
from discreet.privacy.nodes import Node, Parallel, Sequential
from discreet.privacy.plan import Planned
from discreet.privacy.unexpected import REFUSE, tables_clause
from discreet.schema import Schema

MODEL = "the parameters of this model and everything computed from them"
INFERRED = "the schema (classes, categories, bounds) was read off the data and assumed public"
EXCEPT = ", except the classes, categories and bounds, which were read off the data"
UNNOISED = "none: no noise was added"
_version = cache(version)  # it stands in a file: not to be read at every fit

_NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "whether the rows are in the data or not (the number of rows is hidden too)",
    Adjacency.REPLACE: "what the rows say, label included (the number of rows is public)",
}


def certify(
    plan: Planned,
    *,
    sampler: str | Iterable[str],
    simulation: bool,
    accounting: str = "pure epsilon, costs added up exactly",
    node: Node | None = None,
    schema: Schema | None = None,
    rho: Fraction | None = None,
    covers: str = MODEL,
    kind: str = "this model is",
    assumptions: Iterable[str] = (),
    elsewhere: Iterable[tuple[str, Certificate]] = (),
    where: str | None = "in the data",
    checked: bool = True,
    inferred: str = INFERRED,
    whom: str | None = None,
    read: bool = True,
    named: bool = False,
) -> Certificate:
    """The certificate of a release by `plan`: what it spent (`node`, if not all that was planned) and on what terms.

    From the plan follow whom it protects, for which tables, and what is assumed: that a schema read off the data is
    public, that nobody has more rows than the noise pays for, unless an id column lets that be `checked` (`where` says
    among which rows; None assumes nothing), and that whatever the schema or `elsewhere` came of was paid for there.
    `assumptions` are those of the caller on top. `schema` is that of what is released, if it is another one.
    Without `read` the rows were counted elsewhere, and nobody knows how. A `named` one is told apart from any
    other, for schemas and models that follow from it.
    """
    public, private = plan.schema, plan.budget.private
    spent = plan.node if node is None else node
    usable = private and not simulation
    bought = [*public.provenance, *(made.provenance(what) for what, made in elsewhere)] if private else []
    stated = [*_assumed(spent)]
    if public.inferred:
        stated.append(inferred)
    if where is not None and not (checked and read and public.id is not None):
        stated.append(f"no person has more than {plan.contributions} row(s) {where}")
    names = [sampler] if isinstance(sampler, str) else sampler
    return Certificate(
        library=f"discreet {_version('discreet')}",
        private=private,
        simulation=private and simulation,
        sampler=" and ".join(dict.fromkeys(names)) if private else "none",
        schema_hash=(public if schema is None else schema).hash,
        adjacency=plan.adjacency,
        contributions=plan.contributions,
        protects=(whom or protects(plan, read)) if private else NOBODY,
        epsilon=None if plan.budget.epsilon is None else str(plan.budget.epsilon),
        delta=str(plan.budget.delta),
        rho=None if rho is None else str(rho),
        accounting=_accounted(accounting, plan.budget) if private else UNNOISED,
        covers=_covers(covers, public) if usable else f"{NOTHING}: {kind} for study, not for release",
        assumptions=tuple(dict.fromkeys((*stated, *plan.trusts, *map(paid_elsewhere, bought), *assumptions))),
        tables=tables_clause(plan.unexpected if read else REFUSE) if private else "",
        ledger=record(spent),
        elsewhere=tuple(bought),
        release=secrets.token_hex(16) if named and usable else "",
    )


def _assumed(node: Node) -> Iterator[str]:
    """Why the parts of a ledger that compose in parallel are about different rows."""
    if isinstance(node, Parallel):
        yield node.assumption
    for part in node.parts if isinstance(node, Parallel | Sequential) else ():
        yield from _assumed(part)


def _accounted(how: str, budget: Budget) -> str:
    """How costs add up, and that a δ which the user allowed stays whole where it does."""
    spare = f"; nothing is spent of the delta of {float(budget.unspent):g} that was allowed"
    return how + spare if budget.unspent and not budget.delta else how


def _covers(what: str, schema: Schema) -> str:
    """What is covered, but for what was read off the data."""
    return what + EXCEPT if schema.inferred else what


def protects(plan: Planned, read: bool = True) -> str:
    """Whom the guarantee protects, in words."""
    rows = "one row" if plan.contributions == 1 else f"up to {plan.contributions} rows"
    checked = "not checked: the schema names no id column"
    if not read:
        checked = "not checked: the rows were counted elsewhere"
    elif plan.schema.id is not None and plan.trusts:
        checked = "checked by the id column when the rows were counted"
    elif plan.schema.id is not None:
        checked = "checked by the id column of each batch"
        if plan.unexpected != REFUSE:
            checked = "kept by the id column of each batch, out of however many"
    return f"one person with {rows} ({checked}): the release hardly depends on {_NEIGHBOURS[plan.adjacency]}"


def read_under(certificate: Certificate, unexpected: str) -> Certificate:
    """The certificate of the same release, from rows that were read under this policy."""
    return certificate.model_copy(update={"tables": tables_clause(unexpected) if certificate.private else ""})
