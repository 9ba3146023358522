"""The certificate: what a released model guarantees, to whom, and how the budget was spent."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.ledger import Charge, Node, Parallel

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


class GroupRecord(_Record):
    """Releases that compose sequentially (costs add) or in parallel (the dearest counts)."""

    node: Literal["sequential", "parallel"]
    what: str
    assumption: str | None = None
    parts: tuple[LedgerRecord, ...]


LedgerRecord = Annotated[ChargeRecord | GroupRecord, Field(discriminator="node")]


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
    ledger: LedgerRecord

    @property
    def epsilon_value(self) -> float:
        """ε as a float; infinity where there is no privacy."""
        return float("inf") if self.epsilon is None else float(Fraction(self.epsilon))

    @property
    def delta_value(self) -> float:
        """δ as a float."""
        return float(Fraction(self.delta))

    def charges(self) -> list[ChargeRecord]:
        """Every charge of the ledger, in order."""

        def walk(node: ChargeRecord | GroupRecord) -> list[ChargeRecord]:
            return [node] if isinstance(node, ChargeRecord) else [c for part in node.parts for c in walk(part)]

        return walk(self.ledger)


GroupRecord.model_rebuild()
Certificate.model_rebuild()


def record(node: Node) -> ChargeRecord | GroupRecord:
    """A ledger node as it stands in a certificate."""
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


_NEIGHBOURS = {
    Adjacency.ADD_REMOVE: "whether the rows are in the data or not (the number of rows is hidden too)",
    Adjacency.REPLACE: "what the rows say, label included (the number of rows is public)",
}


def protects(adjacency: Adjacency, contributions: int, identified: bool) -> str:
    """Whom the guarantee protects, in words."""
    rows = "one row" if contributions == 1 else f"up to {contributions} rows"
    checked = "checked by the id column" if identified else "not checked: the schema names no id column"
    return f"one person with {rows} ({checked}): the release hardly depends on {_NEIGHBOURS[adjacency]}"


def certify(
    node: Node, budget: Budget, *, adjacency: Adjacency, contributions: int, identified: bool, **fields: Any
) -> Certificate:
    """The certificate of a release that spent `node` of `budget`."""
    from importlib.metadata import version

    return Certificate(
        library=f"discreet {version('discreet')}",
        private=budget.private,
        adjacency=adjacency,
        contributions=contributions,
        protects=protects(adjacency, contributions, identified) if budget.private else "nobody: no noise was added",
        epsilon=None if budget.epsilon is None else str(budget.epsilon),
        delta=str(budget.delta),
        ledger=record(node),
        **fields,
    )
