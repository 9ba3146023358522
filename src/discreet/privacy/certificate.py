"""The certificate: what a released model guarantees, to whom, and how the budget was spent."""

from __future__ import annotations

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

from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.composition import Totals, granted
from discreet.privacy.nodes import Charge, Node, Parallel, Response, SmoothCharge
from discreet.privacy.unexpected import REFUSE, tables_clause
from discreet.schema import Schema

INFERRED = "the schema (classes, categories, bounds) was read off the data and assumed public"
EXCEPT = "except the classes, categories and bounds, which were read off the data"
Exact = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,400}(/[1-9][0-9]{0,399})?$")]


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
        if not self.tables:
            del fields["tables"]
        return fields

    @property
    def epsilon_value(self) -> float:
        """ε as a float; infinity where there is no privacy."""
        return float("inf") if self.epsilon is None else float(Fraction(self.epsilon))

    @property
    def delta_value(self) -> float:
        """δ as a float."""
        return float(Fraction(self.delta))

    def charges(self) -> list[Leaf]:
        """Every charge of the ledger, in order."""

        def walk(node: Leaf | GroupRecord) -> list[Leaf]:
            return [c for part in node.parts for c in walk(part)] if isinstance(node, GroupRecord) else [node]

        return walk(self.ledger)


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


def with_pure(certificate: Certificate, epsilon: Fraction, what: str) -> dict[str, str]:
    """The fields of a certificate, beside ε and ledger, that change as pure ε is spent on top: ρ, if it states one."""
    if certificate.rho is None:
        return {}
    return {
        "rho": str(Fraction(certificate.rho) + epsilon**2 / 2),
        "accounting": f"{certificate.accounting}; pure epsilon of {what} ({epsilon}) added to epsilon, and its square "
        "over two to rho",
    }


GroupRecord.model_rebuild()
Certificate.model_rebuild()


def record(node: Node) -> Leaf | GroupRecord:
    """A ledger node as it stands in a certificate."""
    if isinstance(node, Response):
        return ResponseRecord(
            mechanism=node.mechanism, what=node.what, cost=str(node.cost), parameters=_named(node.parameters)
        )
    if isinstance(node, SmoothCharge):
        return SmoothRecord(
            mechanism=node.mechanism,
            what=node.what,
            measure=node.measure,
            cost=str(node.cost),
            delta=str(node.delta),
            parameters=_named(node.parameters),
        )
    if isinstance(node, Charge):
        return ChargeRecord(
            mechanism=node.mechanism,
            what=node.what,
            norm=node.norm,
            sensitivity=node.sensitivity,
            spread=str(node.spread),
            measure=node.measure,
            cost=str(node.cost),
        )
    return GroupRecord(
        node="parallel" if isinstance(node, Parallel) else "sequential",
        what=node.what,
        assumption=node.assumption if isinstance(node, Parallel) else None,
        parts=tuple(record(part) for part in node.parts),
    )


def _named(parameters: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """Parameters by name, none lost: what reads like an earlier name is numbered."""
    result: dict[str, str] = {}
    for name, value in parameters:
        fresh, number = name, 2
        while fresh in result:
            fresh, number = f"{name} ({number})", number + 1
        result[fresh] = value
    return result


_NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "whether the rows are in the data or not (the number of rows is hidden too)",
    Adjacency.REPLACE: "what the rows say, label included (the number of rows is public)",
}


def protects(adjacency: Adjacency, contributions: int, identified: bool, unexpected: str = REFUSE) -> str:
    """Whom the guarantee protects, in words."""
    rows = "one row" if contributions == 1 else f"up to {contributions} rows"
    checked = "checked by the id column of each batch" if identified else "not checked: the schema names no id column"
    if identified and unexpected != REFUSE:
        checked = "kept by the id column of each batch, out of however many"
    return f"one person with {rows} ({checked}): the release hardly depends on {_NEIGHBOURS[adjacency]}"


def read_under(certificate: Certificate, unexpected: str) -> Certificate:
    """The certificate of the same release, from rows that were read under this policy."""
    return certificate.model_copy(update={"tables": tables_clause(unexpected) if certificate.private else ""})


def standing(
    schema: Schema,
    contributions: int | None = None,
    *,
    where: str = "in the data",
    checked: bool = True,
    inferred: str = INFERRED,
) -> tuple[str, ...]:
    """The assumptions that every certificate states where they are made, so that none can be forgotten.

    That a schema read off the data is public; and that no person has more rows than the noise pays for, unless an id
    column lets that be `checked`. Without `contributions` nothing is assumed about rows per person.
    """
    stated = [inferred] if schema.inferred else []
    if contributions is not None and not (checked and schema.id is not None):
        stated.append(f"no person has more than {contributions} row(s) {where}")
    return tuple(stated)


def covering(what: str, schema: Schema, *, usable: bool, study: str = "this model is") -> str:
    """What a certificate covers: nothing without exact noise, and never what was read off the data."""
    if not usable:
        return f"nothing: {study} for study, not for release"
    return what + (
        ", except the classes, categories and bounds, which were read off the data" if schema.inferred else ""
    )


def certify(
    node: Node,
    budget: Budget,
    *,
    adjacency: Adjacency,
    contributions: int,
    identified: bool,
    unexpected: str = REFUSE,
    **fields: Any,
) -> Certificate:
    """The certificate of a release that spent `node` of `budget` on rows read under the policy `unexpected`."""
    from importlib.metadata import version

    whom = fields.pop("protects", None) or protects(adjacency, contributions, identified, unexpected)
    return Certificate(
        library=f"discreet {version('discreet')}",
        private=budget.private,
        adjacency=adjacency,
        contributions=contributions,
        protects=whom if budget.private else "nobody: no noise was added",
        epsilon=None if budget.epsilon is None else str(budget.epsilon),
        delta=str(budget.delta),
        tables=tables_clause(unexpected) if budget.private else "",
        ledger=record(node),
        **fields,
    )
