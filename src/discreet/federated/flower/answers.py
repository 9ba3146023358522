"""A site's answers: its terms decide, its ledger pays once for each round, and what was kept is sent again."""

from __future__ import annotations

import json
import logging
import math
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.plan import Plan
from discreet.bayes.stream import Stream
from discreet.errors import BudgetError, DiscreetError
from discreet.federated.flower.keys import FederationKeys, read_private
from discreet.federated.secure import AbortError, KeySigner, NodeStore, Round, SecureError
from discreet.federated.secure.wire import kind_of
from discreet.federated.shares import SharePlan, share_plan
from discreet.files import write_bytes
from discreet.nodes.journal import Journal, LockedError, OtherQuestionError, OverspentError
from discreet.nodes.refusals import NodeRefusal, NodeRefusedError
from discreet.nodes.running import (
    NOT_MASKED,
    SiteStream,
    check_apart,
    check_stepped,
    data_of,
    question_of,
    running_update,
)
from discreet.nodes.settings import Settings, node_plan, plain_budget
from discreet.nodes.site import SiteTerms
from discreet.nodes.update import Update
from discreet.privacy.account import Account
from discreet.privacy.budget import Adjacency, Budget
from discreet.schema import Schema
from discreet.sources import check_columns, collect, trusting
from discreet.statistics import Statistics

if TYPE_CHECKING:  # it imports Flower, which must be kept quiet first
    from discreet.federated.flower.records import Request

DAY = 86400.0  # seconds
ROUND = re.compile("[0-9a-f]{64}")  # a round under masks is named by its digest
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
        ring = FederationKeys(keys)
        ring.need(ring.node(name), ring.public(name))
        return cls(ring.registry(), ring.node(name), colluding, dropouts)


@dataclass(frozen=True)
class FederatedTerms(SiteTerms):
    """The terms of one node of a federation."""

    total: Budget
    ledger: Path
    adjacency: Adjacency = Adjacency.ADD_REMOVE
    contributions: int = 1
    mechanism: str = "auto"
    secure: SecureTerms | None = None
    no_privacy: bool = False
    stream: int | None = None  # steps that the budget is for, together; a budget for each round if None

    def __post_init__(self) -> None:
        need_privacy(self.budget, self.total, self.no_privacy)
        if self.stream is not None:
            check_stepped(self.data)
            if self.secure is not None:
                raise BudgetError(NOT_MASKED)
            self.plan(Settings(self.adjacency, contributions=self.contributions))  # refuses what makes no stream

    def plan(self, settings: Settings) -> Plan:
        """What an answer releases, and at which cost."""
        return node_plan(self.schema, settings, self.budget, self.mechanism, self.stream)

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> FederatedTerms:
        """Terms out of a node configuration, as `flower-supernode --node-config` takes it."""
        for key in ("name", "data", "schema", "epsilon", "ledger"):
            if key not in config:
                raise DiscreetError(f"the node configuration lacks {key!r}")
        name, epsilon, delta = str(config["name"]), _number(config["epsilon"]), config.get("delta", 0.0)
        secure = None
        if "secure-keys" in config:
            allowed = (int(config.get("colluding", 1)), int(config.get("dropouts", 0)))
            secure = SecureTerms.of(Path(str(config["secure-keys"])), name, *allowed)
        most = config.get("total-epsilon")
        total = total_budget(epsilon, delta, None if most is None else _number(most), config.get("total-delta"))
        return cls(
            name, str(config["data"]), Schema.load(str(config["schema"])), Budget(epsilon, delta), total,
            Path(str(config["ledger"])), Adjacency.of(config.get("adjacency", "add-remove")),
            int(config.get("contributions", 1)), str(config.get("mechanism", "auto")), secure,
            config.get("no-privacy") is True, int(config["stream"]) if "stream" in config else None,
            account=Account.open(str(config["account"]), label="federate node") if "account" in config else None,
        )  # fmt: skip


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


class AnsweringSite:
    """One node with its journal open."""

    def __init__(self, terms: FederatedTerms) -> None:
        self.terms = terms
        unit = Settings(terms.adjacency, contributions=terms.contributions).unit
        self.journal = Journal(terms.ledger, total=terms.total, unit=unit)
        # Where the node's memory of rounds under masks is kept.
        self.rounds = terms.ledger.parent / f".{terms.ledger.name}.rounds"

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

    def count(self, **detail: Any) -> Statistics:
        """Count the rows; once before all rounds, for their owner alone, so that no row can fail a later answer.

        Of a stream these are the rows of its first step: those of later ones come later, and a row that is not of the
        schema fails its step then, which the coordinator sees as one word.
        """
        terms, data = self.terms, self.terms.data
        if terms.stream is not None:  # the first step's, if they are there
            data = data_of(data, 1)
            if not Path(data).is_file():
                return Statistics.empty(terms.schema)
        return collect(data, terms.schema, contributions=terms.contributions, empty=True, **detail)

    def accept(self, request: Request) -> None:
        """Raise a refusal unless the request is one that this node's terms allow."""
        if request.schema_hash != self.terms.schema.hash:
            raise NodeRefusedError(NodeRefusal.SCHEMA)
        asked = (request.settings.adjacency, request.settings.contributions)
        if asked != (self.terms.adjacency, self.terms.contributions):
            raise NodeRefusedError(NodeRefusal.SETTINGS)
        if (None if request.stream is None else request.stream[0]) != self.terms.stream:
            raise NodeRefusedError(NodeRefusal.SETTINGS)

    def question(self, request: Request) -> str:
        """All that an answer depends on beside the rows."""
        terms = self.terms
        return json.dumps([request.text(), plain_budget(terms.budget), terms.mechanism, terms.node])

    def update(self, request: Request) -> Update:
        """The update for a round: charged and made once, and the same bytes ever after."""
        terms, settings, name = self.terms, request.settings, request.round_id
        if terms.secure is not None:  # a node that was promised masks does not answer without
            raise NodeRefusedError(NodeRefusal.SECURE)
        self.accept(request)
        with refusing():
            # What makes no plan costs nothing.
            plan = terms.plan(settings)
            if request.stream is not None:
                return self._step(request, plan, request.stream[1])
            make = partial(terms.noised, settings, terms.mechanism, name)
            return Update.from_bytes(terms.answer(self.journal, name, self.question(request), plan, make))

    def _step(self, request: Request, plan: Plan, step: int) -> Update:
        """The running sums after a step, out of noise that was drawn once; the whole stream is one charge."""
        terms = self.terms
        stream = SiteStream(self.journal, request.round_id, Stream(plan))
        if not self.journal.paid(stream.charge):  # a name that nobody pays for leaves no file
            terms.check_payable(self.journal, plan, data_of(terms.data, 1))

        def count(number: int) -> tuple[Statistics, tuple[str, ...]]:
            data = data_of(terms.data, number)
            check_apart(terms.data, number)
            check_columns(data, terms.schema)
            found = collect(data, terms.schema, detail=plan.detail, contributions=terms.contributions, empty=True)
            return found, trusting(plan, data).trusts

        def pay(charge: str) -> None:
            first = data_of(terms.data, 1)
            question = json.dumps([replace(request, stream=None).text(), question_of(stream.empty, terms.node)])
            terms.answer(self.journal, charge, question, plan, lambda: b"begun", data=first)

        return running_update(stream.at(step, pay, count), request.settings, node=terms.node, round_id=request.round_id)

    # ---- rounds under masks

    def shared_plan(self, request: Request) -> SharePlan:
        """The shares of noise that this node's own terms ask for."""
        terms, allowed = self.terms, self.terms.secure
        assert allowed is not None
        plan = node_plan(terms.schema, request.settings, terms.budget, terms.mechanism)
        return share_plan(plan, len(allowed.registry), colluding=allowed.colluding, dropouts=allowed.dropouts)

    def masked(self, request: Request, step: bytes) -> bytes:
        """The answer to one step; the same step gets the same bytes again, through restarts too."""
        terms, allowed = self.terms, self.terms.secure
        if allowed is None:
            raise NodeRefusedError(NodeRefusal.SECURE)
        self.accept(request)
        with refusing():
            shared = self.shared_plan(request)
            round_ = self._round(request, step, shared, allowed)
            charge = f"secure {request.round_id}"

            def draw() -> NDArray[np.int64]:
                # The vector itself is never kept: the masked one is, by the store, before it leaves.
                terms.answer(
                    self.journal, charge, self.question(request), shared.plan, lambda: round_.digest, shared.node
                )
                return shared.vector(self.count(detail=shared.plan.detail))

            signer = KeySigner(read_private(allowed.private))
            node = NodeStore(self.rounds).node(round_, terms.node, signer, draw)
            if self.journal.paid(charge) and not node.exposed:
                # A masked input may have left that nobody here remembers: a second one would be a second answer.
                raise AbortError("this round is paid for and its memory is lost: it is over for this node")
            return node.answer(step)

    def _round(self, request: Request, step: bytes, shared: SharePlan, allowed: SecureTerms) -> Round:
        """The round of a step, held at every step to this node's terms and to the request that began it."""
        if not ROUND.fullmatch(request.round_id):
            raise NodeRefusedError(NodeRefusal.REQUEST)
        self.rounds.mkdir(mode=0o700, parents=True, exist_ok=True)
        begun, question = (self.rounds / f"{request.round_id}.{part}" for part in ("invitation", "question"))
        if question.is_file() and question.read_text() != self.question(request):
            raise NodeRefusedError(NodeRefusal.ROUND)
        inviting = kind_of(step) == "invite"
        if not inviting and not (begun.is_file() and question.is_file()):
            raise NodeRefusedError(NodeRefusal.SECURE)
        round_ = shared.accept(step if inviting else begun.read_bytes(), allowed.registry)
        if round_.digest.hex() != request.round_id:
            raise NodeRefusedError(NodeRefusal.REQUEST)
        if inviting:
            for path, content in ((question, self.question(request).encode()), (begun, step)):
                write_bytes(path, content, private=True)
        return round_


REFUSED: tuple[tuple[type[Exception], NodeRefusal], ...] = (
    (OverspentError, NodeRefusal.BUDGET),
    (LockedError, NodeRefusal.BUSY),
    (OtherQuestionError, NodeRefusal.ROUND),
    (BudgetError, NodeRefusal.SETTINGS),
    (SecureError, NodeRefusal.SECURE),
    (Exception, NodeRefusal.FAILED),  # rows or disks: they are not told apart, as the text may speak of rows
)


@contextmanager
def refusing() -> Iterator[None]:
    """Turn every failure into a refusal out of the fixed list; the reason stays in the node's own log."""
    try:
        yield
    except NodeRefusedError:
        raise
    except Exception as error:
        reason = next(reason for kind, reason in REFUSED if isinstance(error, kind))
        what = reason if reason in {NodeRefusal.BUSY, NodeRefusal.FAILED} else "refused"
        log.warning("%s: %s", what, error if isinstance(error, DiscreetError) else repr(error))
        raise NodeRefusedError(reason) from None
