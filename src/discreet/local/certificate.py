"""The certificate of a model learned from reports: what each person's device guaranteed before anything left it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from discreet.local.inputs import input_of
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certificate import Certificate
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Parallel, Response
from discreet.privacy.plan import Paid
from discreet.schema import Schema

DEVICES = "by those who sent the reports"
ONE_PROCESS = "by the operating system for each person, in the one process that held all rows"
SIMULATED = "numpy: pseudo-random simulation"
DRAWN = "drawn before the person's row is read"
CLIENTS = "every report was drawn by a client that follows its mechanism, with randomness nobody else knows"
PROTECTS = (
    "each person who sent a report, whoever collects it: the report hardly depends on what the person's row says, "
    "label included (how many people sent reports is public)"
)


def ledger_of(schema: Schema, tallies: Iterable[Any]) -> Parallel:
    """One entry per input and mechanism; each person pays for their own reports only, so the dearest counts."""
    listed = sorted(tallies, key=lambda one: (one.index, one.mechanism.name, one.mechanism.epsilon, one.parts))
    parts = tuple(
        Response(
            mechanism=one.mechanism.name,
            what=input_of(schema, one.index).label(schema),
            cost=one.mechanism.epsilon * one.parts,
            parameters=_parameters(one.mechanism, one.parts),
        )
        for one in listed
    )
    most = max((one.parts for one in listed), default=1)
    about = "one report about one input" if most == 1 else f"at most {most} reports about different inputs"
    return Parallel("reports of different people", f"each person sends {about}, {DRAWN}", parts)


def _parameters(mechanism: Any, parts: int) -> tuple[tuple[str, str], ...]:
    names = {"d": "d", "p": "p", "q": "q", "theta": "theta", "classes": "classes", "half": "half"}
    found = [(shown, str(getattr(mechanism, name))) for name, shown in names.items() if hasattr(mechanism, name)]
    return tuple(found if parts == 1 else [*found, ("reports per person", str(parts))])


def local_certificate(
    schema: Schema, tallies: Iterable[Any], *, simulation: bool = False, sampler: str = DEVICES
) -> Certificate:
    """What was guaranteed to the people whose reports were counted: the largest ε of any of them."""
    node = ledger_of(schema, tallies)
    epsilon = max((part.cost for part in node.parts if isinstance(part, Response)), default=Fraction(0))
    return certify(
        Paid(schema, Budget(epsilon), Adjacency.REPLACE, 1, node),
        sampler=SIMULATED if simulation else sampler,
        simulation=simulation,
        accounting="local: the ε of the dearest person; nobody needs to trust the collector",
        covers="every report by itself, hence this model and everything computed from them",
        assumptions=(CLIENTS,) if sampler == DEVICES else (),
        where=None,
        whom=PROTECTS,
    )
