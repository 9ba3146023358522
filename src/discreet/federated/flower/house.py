"""The house of one node: its rows, its budget and its journal, and what it lets out when it is asked."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.bayes.plan import Plan
from discreet.errors import BudgetError, DiscreetError
from discreet.federated.journal import Journal, LockedError, OtherQuestionError, OverspentError, Pay
from discreet.federated.update import Update, node_plan, node_update
from discreet.privacy.account import Account
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.nodes import Node
from discreet.schema import Schema
from discreet.sources import check_columns, collect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from discreet.federated.flower.records import Request

DAY = 86400.0  # seconds
log = logging.getLogger("discreet.node")


@dataclass(frozen=True)
class SecureTerms:
    """What a node holds for rounds under masks: everybody's public keys, its own key, and how many may fail.

    `registry` has the public keys as the node itself got them: a coordinator that shows others is refused.
    """

    registry: Mapping[str, bytes]
    private: Path
    colluding: int = 1  # a node that reads the model can take its own share of the noise away
    dropouts: int = 0

    @classmethod
    def of(cls, keys: Path, name: str, colluding: int, dropouts: int) -> SecureTerms:
        """The terms that a directory of keys holds."""
        from discreet.federated.flower.keys import Keys

        ring = Keys(keys)
        ring.need(ring.node(name), ring.public(name))
        return cls(ring.registry(), ring.node(name), colluding, dropouts)


@dataclass(frozen=True)
class Terms:
    """The terms of one node, fixed by the person who answers for its rows."""

    name: str
    data: str
    schema: Schema
    budget: Budget
    total: Budget
    ledger: Path
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    contributions: int = 1
    mechanism: str = "auto"
    secure: SecureTerms | None = None
    no_privacy: bool = False
    account: Account | None = None

    def __post_init__(self) -> None:
        need_privacy(self.budget, self.total, self.no_privacy)

    @property
    def unit(self) -> str:
        """Whom the ledger counts for."""
        rows = "one row" if self.contributions == 1 else f"{self.contributions} rows"
        return f"{self.adjacency} neighbours, {rows} per person"

    def pay(self, node: Node, plan: Plan) -> Pay | None:
        """How a round is charged to the account of the rows, if they have one beside the node's ledger."""
        if self.account is None:
            return None
        return partial(self.account.charge, node, self.budget, plan.unit, schema=self.schema)

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> Terms:
        """Terms out of a node configuration, as `flower-supernode --node-config` takes it."""
        for key in ("name", "data", "schema", "epsilon", "ledger"):
            if key not in config:
                raise DiscreetError(f"the node configuration lacks {key!r}")
        epsilon, delta = config["epsilon"], config.get("delta", 0.0)
        secure = None
        if "secure-keys" in config:
            allowed = (int(config.get("colluding", 1)), int(config.get("dropouts", 0)))
            secure = SecureTerms.of(Path(str(config["secure-keys"])), str(config["name"]), *allowed)
        most, most_delta = config.get("total-epsilon"), config.get("total-delta")
        total = total_budget(_number(epsilon), delta, None if most is None else _number(most), most_delta)
        return cls(
            str(config["name"]),
            str(config["data"]),
            Schema.load(str(config["schema"])),
            Budget(_number(epsilon), delta),
            total,
            Path(str(config["ledger"])),
            Adjacency.of(config.get("adjacency", "add-remove")),
            int(config.get("contributions", 1)),
            str(config.get("mechanism", "auto")),
            secure,
            config.get("no-privacy") is True,
            Account.open(str(config["account"]), label="federate node") if "account" in config else None,
        )


def _number(value: Any) -> Any:
    return math.inf if str(value) in {"inf", "infinity"} else value


def total_budget(epsilon: Any, delta: Any, total: Any = None, total_delta: Any = None) -> Budget:
    """What all rounds may cost: one round unless told, and delta for as many rounds as epsilon pays for."""
    once = Budget(epsilon, delta=delta)
    if total is None:
        return once if total_delta is None else Budget(epsilon, delta=total_delta)
    most = Budget(total)
    if total_delta is not None or once.epsilon is None or most.epsilon is None:
        return Budget(total, delta=delta if total_delta is None else total_delta)
    return Budget(total, delta=once.delta * max(1, most.epsilon // once.epsilon))


def need_privacy(budget: Budget, total: Budget, no_privacy: bool) -> None:
    """Raise if exact counts could leave, or any number of noised ones, and nobody has said that they may."""
    if not (budget.private and total.private) and not no_privacy:
        raise BudgetError("an infinite epsilon or total protects nobody: say --no-privacy if the rows are public")


def _plain(budget: Budget) -> dict[str, str | None]:
    return {
        name: None if (part := getattr(budget, name)) is None else str(part) for name in ("epsilon", "delta", "rho")
    }


class House:
    """One node with its journal open."""

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.journal = Journal(terms.ledger, total=terms.total, unit=terms.unit)

    @property
    def rounds(self) -> Path:
        """Where the node's memory of rounds under masks is kept."""
        return self.terms.ledger.parent / f".{self.terms.ledger.name}.rounds"

    def sweep(self, older: float = DAY) -> None:
        """Erase what is kept of rounds under masks that nobody has touched for a while; paid ones are then over."""
        if not self.rounds.is_dir():
            return
        touched: dict[str, float] = {}
        for path in self.rounds.iterdir():
            name = path.name.removeprefix(".")[:64]
            touched[name] = max(touched.get(name, 0.0), path.stat().st_mtime)
        for path in list(self.rounds.iterdir()):
            if time.time() - touched[path.name.removeprefix(".")[:64]] > older:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def check(self) -> None:
        """Count the rows once for their owner alone, so that no row can turn a later answer into a refusal."""
        terms = self.terms
        collect(terms.data, terms.schema, contributions=terms.contributions, empty=True)

    def check_source(self, round_id: str) -> None:
        """Raise if a round that is not paid for yet could not be answered, as far as that shows without a row."""
        if not self.journal.paid(round_id):
            check_columns(self.terms.data, self.terms.schema)

    def accept(self, request: Request) -> None:
        """Raise a refusal unless the request is one that this node's terms allow."""
        from discreet.federated.flower.records import NodeRefusal, RefusedError

        if request.schema_hash != self.terms.schema.hash:
            raise RefusedError(NodeRefusal.SCHEMA)
        asked = (request.settings.adjacency, request.settings.contributions)
        if asked != (self.terms.adjacency, self.terms.contributions):
            raise RefusedError(NodeRefusal.SETTINGS)

    def question(self, request: Request) -> str:
        """All that an answer depends on beside the rows."""
        terms = self.terms
        return json.dumps([request.text(), _plain(terms.budget), terms.mechanism, terms.name])

    def update(self, request: Request) -> Update:
        """The update for a round: charged and made once, and the same bytes ever after."""
        from discreet.federated.flower.records import NodeRefusal, RefusedError

        if self.terms.secure is not None:  # a node that was promised masks does not answer without
            raise RefusedError(NodeRefusal.SECURE)
        self.accept(request)
        terms, settings = self.terms, request.settings
        with refusing():  # a question that makes no plan costs nothing
            plan = node_plan(terms.schema, settings, terms.budget, terms.mechanism)

        def make() -> bytes:
            made = node_update(
                terms.data,
                terms.schema,
                terms.budget,
                node=terms.name,
                adjacency=str(settings.adjacency),
                numeric=settings.numeric,
                split=settings.split,
                mechanism=terms.mechanism,
                contributions=settings.contributions,
                round_id=request.round_id,
            )
            return made.to_bytes()

        with refusing():
            self.check_source(request.round_id)
            answer = self.journal.answer(
                request.round_id, self.question(request), terms.budget, make, terms.pay(plan.node, plan)
            )
            return Update.from_bytes(answer)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn every failure into a refusal out of the fixed list; the reason stays in the node's own log."""
    from discreet.federated.flower.records import BusyError, NodeRefusal, RefusedError

    try:
        yield
    except RefusedError:
        raise
    except OverspentError as error:
        log.warning("refused: %s", error)
        raise RefusedError(NodeRefusal.BUDGET) from None
    except LockedError as error:
        log.warning("busy: %s", error)
        raise BusyError from None
    except OtherQuestionError as error:
        log.warning("refused: %s", error)
        raise RefusedError(NodeRefusal.ROUND) from None
    except BudgetError as error:
        log.warning("refused: %s", error)
        raise RefusedError(NodeRefusal.SETTINGS) from None
    except Exception as error:  # whatever it is, rows or disks: it is not told apart, and its text may speak of rows
        log.warning("failed: %s", error if isinstance(error, DiscreetError) else repr(error))
        raise RefusedError(NodeRefusal.FAILED) from None
