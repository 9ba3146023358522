"""The certificate: what a released model guarantees, to whom, and how the budget was spent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    TypeAdapter,
    model_serializer,
    model_validator,
)

from discreet.errors import BudgetError
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.composition import Totals, granted
from discreet.privacy.nodes import Charge, Node, Parallel, Response, Sequential, SmoothCharge
from discreet.privacy.payer import unit_of
from discreet.privacy.unexpected import REFUSED, TOTAL
from discreet.schema import Provenance

NOBODY = "nobody: no noise was added"
NOTHING = "nothing"  # how the clause of a study begins that covers no release
Exact = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,400}(/[1-9][0-9]{0,399})?$")]

Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", title=None)


class ChargeRecord(_Record):
    """One noisy release; numbers are exact fractions."""

    node: Literal["charge"] = "charge"
    mechanism: str
    what: str
    norm: str
    sensitivity: str
    spread: Exact
    measure: Literal["epsilon", "rho"]
    cost: Exact


class SmoothRecord(_Record):
    """One release whose noise follows a smooth bound; its parameters are public, the bound and the scale are not."""

    node: Literal["smooth"] = "smooth"
    mechanism: str
    what: str
    measure: Literal["epsilon", "rho"]
    cost: Exact
    delta: Exact = "0"
    parameters: dict[str, str] = {}


class ResponseRecord(_Record):
    """Randomised reports about one input, one report per person at this cost; the law's parameters are public."""

    node: Literal["response"] = "response"
    mechanism: str
    what: str
    measure: Literal["epsilon"] = "epsilon"
    cost: Exact
    parameters: dict[str, str] = {}


class GroupRecord(_Record):
    """Releases that compose sequentially (costs add) or in parallel (the dearest counts)."""

    node: Literal["sequential", "parallel"]
    what: str
    assumption: str | None = None
    parts: tuple[LedgerRecord, ...]


Leaf = ChargeRecord | SmoothRecord | ResponseRecord
LedgerRecord = Annotated[Leaf | GroupRecord, Field(discriminator="node")]


WHICHEVER = (
    "delta is that of every way to go on that earlier noise might have decided for; what is said of rho, or of a delta "
    "that stays whole, is of the way that was taken"
)


class Certificate(_Record):
    """What was guaranteed when this model was released."""

    format: Literal["discreet/certificate"] = "discreet/certificate"
    version: Literal[1] = 1
    library: str
    private: bool
    simulation: bool
    sampler: str
    schema_hash: str
    adjacency: Adjacency
    contributions: int = Field(ge=1)
    protects: str
    epsilon: Exact | None
    delta: Exact
    rho: Exact | None
    accounting: str
    covers: str
    assumptions: tuple[str, ...]
    tables: str = ""  # which tables the guarantee is about; certificates of earlier versions do not say
    ledger: LedgerRecord
    elsewhere: tuple[Provenance, ...] = ()  # what this release follows from and does not pay for
    included: tuple[Digest, ...] = ()  # the certificates that were added up to this one
    release: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{32})?$")] = ""  # tells equal purchases apart
    parameters: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""  # of the model, in its file alone
    evaluation: Annotated[str, StringConstraints(pattern=r"^([0-9a-f]{64})?$")] = ""  # and of the figures beside it

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        """The claim must pay for every charge of the ledger."""
        for amount, most in ((self.epsilon, 10**15), (self.delta, 10**15), (self.rho, 10**30)):
            if amount is not None and not 0 <= Fraction(amount) <= most:
                raise ValueError("an amount of the certificate is out of range")
        if not self.private:
            return self
        pure, concentrated = _spent(self.ledger, "epsilon"), _spent(self.ledger, "rho")
        if concentrated and (self.rho is None or concentrated > Fraction(self.rho)):
            raise ValueError("the ledger spends more rho than the certificate claims")
        if _spent(self.ledger, "delta") > Fraction(self.delta):
            raise ValueError("the ledger spends more delta than the certificate claims")
        if pure > (0 if self.epsilon is None else Fraction(self.epsilon)):
            raise ValueError("the ledger spends more epsilon than the certificate claims")
        if self.rho is not None and _concentrated(self.ledger) > Fraction(self.rho):
            raise ValueError("the ledger spends more rho than the certificate claims, with epsilon²/2 for what is pure")
        return self

    @model_serializer(mode="wrap")
    def _as_it_was(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A certificate of an earlier version is written as it was read."""
        fields: dict[str, Any] = handler(self)
        for name in ("tables", "elsewhere", "included", "release", "parameters", "evaluation"):
            if not fields[name]:
                del fields[name]
        return fields

    @property
    def epsilon_value(self) -> float:
        """ε as a float; infinity where there is no privacy."""
        return float("inf") if self.epsilon is None else float(Fraction(self.epsilon))

    @property
    def delta_value(self) -> float:
        """δ as a float."""
        return float(Fraction(self.delta))

    @property
    def unit(self) -> str:
        """Whom the cost is counted for."""
        return unit_of(self.adjacency, self.contributions)

    @property
    def hash(self) -> str:
        """A fingerprint by which later certificates name this one."""
        canonical = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        return hashlib.sha256(canonical.encode()).hexdigest()

    def __str__(self) -> str:
        """What it says, for a person; `model_dump` has every number exactly."""
        delta = f", delta = {self.delta_value:g}" if Fraction(self.delta) else ""
        costs = [
            f"  {one.what}: {one.measure} = {float(Fraction(one.cost)):.4g} ({one.mechanism})" for one in self.charges()
        ]
        simulated = "SIMULATION, not for release: " if self.simulation else ""
        return "\n".join(
            [
                f"{simulated}epsilon = {self.epsilon_value:g}{delta}" if self.private else "not private",
                f"{self.adjacency} neighbours: {self.protects}",
                f"covers {self.covers}",
                f"accounting: {self.accounting}",
                *(f"assumes: {one}" for one in self.assumptions),
                *(["spent:", *costs] if costs else []),
            ]
        )

    def provenance(self, what: str) -> Provenance:
        """What a schema or a model says that follows from this release."""
        return Provenance(
            what=what, epsilon=self.epsilon, delta=self.delta, adjacency=str(self.adjacency),
            contributions=self.contributions, certificate=self.hash,
        )  # fmt: skip

    def then(self, other: Certificate, what: str = "a release, then another on the same rows") -> Certificate:
        """The certificate of this release and a later one on the same rows, which may follow from it: costs add up.

        What the later one says to be paid for elsewhere, and this one pays for, is said no longer.
        """
        return self._with(other, {
            "epsilon": _added(self.epsilon, other.epsilon),
            "delta": str(Fraction(self.delta) + Fraction(other.delta)),
            "rho": _rhos(self, other, lambda one, two: one + two),
            "accounting": f"{_costed(self)}; then {_costed(other)}; the two added up",
            "covers": _covered(self.covers, other.covers),
            "ledger": _group("sequential", what, None, self, other),
        })  # fmt: skip

    def beside(self, other: Certificate, what: str, assumption: str) -> Certificate:
        """The certificate of this release and one on other rows: the dearer of the two is the cost.

        `assumption` says why nobody's rows are in both.
        """
        dearer = max(Fraction(self.epsilon or 0), Fraction(other.epsilon or 0))
        whole = self._with(other, {
            "epsilon": None if None in {self.epsilon, other.epsilon} else str(dearer),
            "delta": str(max(Fraction(self.delta), Fraction(other.delta))),
            "rho": _rhos(self, other, max),
            "accounting": f"{self.accounting}; and on other rows {other.accounting}",
            "covers": _covered(self.covers, other.covers),
            "ledger": _group("parallel", what, assumption, self, other),
        })  # fmt: skip
        return whole.assuming(assumption)

    def whichever(self, delta: Fraction) -> Certificate:
        """This release as one of those that noise of an earlier step decides among: its δ is that of them all.

        What an output says of the way that was taken holds for this output; the procedure has the δ of the dearest way.
        """
        if not self.private or not delta:
            return self
        raised = self.model_copy(update={"delta": str(max(Fraction(self.delta), delta))})
        return raised.assuming(WHICHEVER) if raised.delta != self.delta or self.rho is not None else raised

    def assuming(self, *more: str) -> Certificate:
        """The same, resting on more."""
        return self.model_copy(update={"assumptions": tuple(dict.fromkeys((*self.assumptions, *more)))})

    def _with(self, other: Certificate, fields: dict[str, Any]) -> Certificate:
        """What every composition does: one unit, one list of what is assumed, and what is not paid for here."""
        if self.unit != other.unit:
            raise BudgetError(f"costs for {self.unit} do not add up with costs for {other.unit}: use the same for both")
        if self.private and other.private and (self.epsilon is None) != (other.epsilon is None):
            raise BudgetError("a cost in epsilon does not add up with one in rho alone: state both in one measure")
        included = [*dict.fromkeys((*self.included, self.hash, *other.included, other.hash))]
        both = {one.certificate: one for one in (*self.elsewhere, *other.elsewhere)}
        paid = {paid_elsewhere(one) for key, one in both.items() if key in included}
        stated = dict.fromkeys((*self.assumptions, *other.assumptions))
        private, tables = self.private and other.private, {self.tables, other.tables}
        return Certificate.model_validate(other.model_dump(mode="json") | fields | {
            "private": private,
            "protects": other.protects if private else NOBODY,
            "simulation": self.simulation or other.simulation,
            "sampler": " and ".join(
                dict.fromkeys((*self.sampler.split(" and "), *other.sampler.split(" and ")))
            ) if private else "none",
            "assumptions": [text for text in stated if text not in paid],
            "tables": "" if not private else TOTAL if tables == {TOTAL} else REFUSED if REFUSED in tables else "",
            "release": "",
            "elsewhere": [one.model_dump(mode="json") for key, one in both.items() if key not in included],
            "included": included,
        })  # fmt: skip

    def facts(self) -> list[tuple[str, Any]]:
        """What it says, by name, for a person."""
        said = "NOT PRIVATE" if not self.private else "SIMULATION, NOT FOR RELEASE" if self.simulation else "private"
        delta = f", delta = {self.delta_value:g}" if self.delta_value else ""
        budget = "" if self.epsilon is None else f": epsilon = {self.epsilon_value:g}{delta}"
        return [("guarantee", said + budget), ("neighbours", self.adjacency), ("protects", self.protects),
                ("covers", self.covers), *(("assumes", one) for one in self.assumptions)]  # fmt: skip

    def _repr_html_(self) -> str:
        from discreet.html import page

        return page("Certificate", self.facts(), ["mechanism", "what", "noise", "cost"], tabled(self.ledger))

    def charges(self) -> list[Leaf]:
        """Every charge of the ledger, in order."""
        return leaves(self.ledger)


def leaves(node: Leaf | GroupRecord) -> list[Leaf]:
    """Every charge of a recorded ledger, in order."""
    return [one for part in node.parts for one in leaves(part)] if isinstance(node, GroupRecord) else [node]


def tabled(node: Leaf | GroupRecord) -> list[list[str]]:
    """Mechanism, what was released, the scale of its noise and its cost, for a person."""
    rows = []
    for one in leaves(node):
        spread = f"{float(Fraction(one.spread)):.4g}" if isinstance(one, ChargeRecord) else "-"
        rows.append([one.mechanism, one.what, spread, f"{one.measure} {float(Fraction(one.cost)):.4g}"])
    return rows


def paid_elsewhere(what: Provenance) -> str:
    """The sentence about a release that a later one follows from and does not pay for."""
    amount = "no privacy at all" if what.epsilon is None else f"epsilon {what.epsilon}"
    if Fraction(what.delta):
        amount += f" and delta {what.delta}"
    return (
        f"{what.what}: paid for elsewhere, at {amount} for {unit_of(what.adjacency, what.contributions)} (certificate "
        f"{what.certificate[:16]}), which comes on top of this cost for people who are in both"
    )


def _costed(one: Certificate) -> str:
    """How one part of a whole was accounted for, and what it came to."""
    return one.accounting if one.epsilon is None else f"{one.accounting} (epsilon {one.epsilon})"


def _added(one: str | None, two: str | None) -> str | None:
    return None if one is None or two is None else str(Fraction(one) + Fraction(two))


def _rhos(one: Certificate, two: Certificate, both: Callable[[Fraction, Fraction], Fraction]) -> str | None:
    """The ρ of two releases, if one of them states it: pure ε counts as ε²/2."""
    if one.rho is None and two.rho is None:
        return None
    found = [
        Fraction(each.rho) if each.rho is not None
        else Fraction(each.epsilon) ** 2 / 2 if each.epsilon is not None and not Fraction(each.delta)
        else recorded_rho(each.ledger)
        for each in (one, two)
    ]  # fmt: skip
    if found[0] is None or found[1] is None:
        raise BudgetError("a release with a delta of its own has no rho to add to the other's: use pure epsilon")
    return str(both(found[0], found[1]))


def _covered(one: str, two: str) -> str:
    """What two releases cover; what one of them does not cover at all, both together do not."""
    if one == two or one.startswith(NOTHING):
        return one
    return two if two.startswith(NOTHING) else f"{one}, and {two}"


def _group(node: str, what: str, assumption: str | None, one: Certificate, two: Certificate) -> Any:
    parts = [one.ledger.model_dump(mode="json"), two.ledger.model_dump(mode="json")]
    return {"node": node, "what": what, "assumption": assumption, "parts": parts}


def _spent(node: Leaf | GroupRecord, measure: str) -> Fraction:
    """What a recorded ledger costs in one measure."""
    if isinstance(node, SmoothRecord) and measure == "delta":
        return Fraction(node.delta)
    if not isinstance(node, GroupRecord):
        return Fraction(node.cost) if node.measure == measure else Fraction(0)
    costs = [_spent(part, measure) for part in node.parts]
    return max(costs, default=Fraction(0)) if node.node == "parallel" else sum(costs, Fraction(0))


def _concentrated(node: Leaf | GroupRecord) -> Fraction:
    """The ρ of a recorded ledger: pure ε counts as ε²/2, and a release with a δ of its own has none."""
    if isinstance(node, SmoothRecord) and Fraction(node.delta):
        raise ValueError("a release with a delta of its own has no rho, but the certificate claims one")
    if not isinstance(node, GroupRecord):
        return Fraction(node.cost) if node.measure == "rho" else Fraction(node.cost) ** 2 / 2
    costs = [_concentrated(part) for part in node.parts]
    return max(costs, default=Fraction(0)) if node.node == "parallel" else sum(costs, Fraction(0))


def parse_record(fields: Any) -> Leaf | GroupRecord:
    """A ledger node that was recorded as plain values; anything else is a ValueError."""
    found: Leaf | GroupRecord = TypeAdapter(LedgerRecord).validate_python(fields)
    return found


def recorded_rho(node: Leaf | GroupRecord) -> Fraction | None:
    """The ρ of a recorded ledger; None if a release in it has a δ of its own."""
    return None if _spent(node, "delta") else _concentrated(node)


def recorded_amounts(node: Leaf | GroupRecord, grant: Budget) -> Totals:
    """What a recorded ledger adds to totals if it was granted that; a BudgetError if it costs more."""
    own, noise, shift = (_spent(node, measure) for measure in ("epsilon", "rho", "delta"))
    return granted(own, noise, shift, recorded_rho(node), grant)


GroupRecord.model_rebuild()
Certificate.model_rebuild()


_LEAVES: dict[type[Node], type[Leaf]] = {Charge: ChargeRecord, SmoothCharge: SmoothRecord, Response: ResponseRecord}


def record(node: Node) -> Leaf | GroupRecord:
    """A ledger node as it stands in a certificate."""
    if isinstance(node, Sequential | Parallel):
        return GroupRecord(
            node="parallel" if isinstance(node, Parallel) else "sequential",
            what=node.what,
            assumption=node.assumption if isinstance(node, Parallel) else None,
            parts=tuple(record(part) for part in node.parts),
        )
    fields: dict[str, Any] = {
        name: str(value) if isinstance(value, Fraction) else _named(value) if name == "parameters" else value
        for name, value in vars(node).items()
    }
    return _LEAVES[type(node)](**fields)


def _named(parameters: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Parameters by name, none lost: what reads like an earlier name is numbered."""
    result: dict[str, str] = {}
    for name, value in parameters:
        fresh, number = name, 2
        while fresh in result:
            fresh, number = f"{name} ({number})", number + 1
        result[fresh] = value
    return result
