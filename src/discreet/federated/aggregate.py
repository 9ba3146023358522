"""The aggregate: a coordinator's state, updates in and a model out; it has no clock, no socket and no dice."""

from __future__ import annotations

import base64
import json
import os
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.bayes.estimate import estimate
from discreet.bayes.likelihoods import Likelihood
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan
from discreet.bayes.release import Release
from discreet.errors import BudgetError, DiscreetError, StatisticsError
from discreet.federated.plausible import check
from discreet.federated.robust import robust_estimate
from discreet.federated.stack import Floats, Stack
from discreet.federated.weights import weighted_estimate
from discreet.files import parse_json, write_text
from discreet.nodes.certificate import aggregate_certificate
from discreet.nodes.members import Member, member_table, row_shares, summed_release, times_of
from discreet.nodes.refusals import MIXED, Refusal, demand, refuse
from discreet.nodes.settings import Settings, budget_kind, node_plan, plain_budget
from discreet.nodes.update import Integers, Key, Update
from discreet.privacy.certificate import Certificate, record
from discreet.schema import Schema
from discreet.statistics import checked_add, checked_subtract

FORMAT = "discreet/federated-aggregate"
VERSION = 1
OPTIONS = ("keep", "weighting", "cutoff", "overlap", "most_rows", "robust")
WEIGHTINGS = ("sum", "inverse-variance", "cut-off", "trimmed", "median-of-means")


@dataclass(eq=False, repr=False)
class Aggregate:
    """The sum of the nodes' updates and the model that follows from it.

    Parameters
    ----------
    schema : Schema
        What all nodes have declared.
    settings : Settings, optional
        What all nodes must have in common; by default that of the first update.
    keep : bool, default True
        Keep every update, so that nodes can be removed and weighted anew; without, only running sums are held.
    weighting : {"sum", "inverse-variance", "cut-off", "trimmed", "median-of-means"}
        How nodes count; see docs/federated.md. All but "sum" and "cut-off" need the kept updates.
    cutoff : float, optional
        The noise level above which "cut-off" leaves a node out; `table()` lists the levels.
    overlap : bool, default False
        Whether a person may have rows at several nodes: costs then add up instead of the dearest being counted.
    most_rows : int, optional
        A public bound on the rows of one node; an update that speaks of more is refused.
    robust : float, default 0.1
        The share of lying nodes that "trimmed" and "median-of-means" stand.
    """

    schema: Schema
    _: KW_ONLY
    settings: Settings | None = None
    keep: bool = True
    weighting: str = "sum"
    cutoff: float | None = None
    overlap: bool = False
    most_rows: int | None = None
    robust: float = 0.1

    def __post_init__(self) -> None:
        if self.weighting not in WEIGHTINGS:
            raise BudgetError(f"weighting must be one of {', '.join(WEIGHTINGS)}, not {self.weighting!r}")
        if not self.keep and self.weighting not in {"sum", "cut-off"}:
            raise BudgetError(f"weighting {self.weighting!r} looks at every update again: it needs keep=True")
        if (self.weighting == "cut-off") != (self.cutoff is not None):
            raise BudgetError("weighting 'cut-off' goes with a cutoff, the noise level above which a node is left out")
        if not 0 < self.robust < 0.5:
            raise BudgetError("robust is the share of lying nodes to stand, between 0 and 0.5")
        self.members: dict[str, Member] = {}
        self.updates: dict[str, Update] = {}
        self.sums: dict[Key, Integers] = {}

    def __len__(self) -> int:
        return len(self.members)

    # ---- joining and leaving

    def add(self, update: Update) -> None:
        """Take in an update, or raise `UpdateError` with a reason and change nothing."""
        self.examine(update)
        member = Member.of(update, self.schema)
        if self.counts(member):
            self._accumulate(update, 1)
        self.settings = update.settings
        self.members[update.node] = member
        if self.keep:
            self.updates[update.node] = update

    def remove(self, node: str) -> None:
        """Take a node's update out again, as if it had never come."""
        if node not in self.members:
            refuse(Refusal.UNKNOWN_NODE, f"there is no update of a node {node!r} to remove")
        if not self.keep:
            refuse(Refusal.NOT_KEPT)
        if self.counts(self.members[node]):
            self._accumulate(self.updates[node], -1)
        del self.members[node], self.updates[node]

    def examine(self, update: Any) -> None:
        """Raise `UpdateError` if the update would be refused now."""
        demand(isinstance(update, Update), "this is no update of a node")
        if update.schema_hash != self.schema.hash:
            refuse(Refusal.SCHEMA)
        if any(member.digest == update.digest for member in self.members.values()):
            refuse(Refusal.DUPLICATE_UPDATE)
        if update.node in self.members:
            refuse(Refusal.DUPLICATE_NODE, f"the node {update.node!r} has an update already: remove that one first")
        if self.settings is not None and update.settings != self.settings:
            refuse(Refusal.SETTINGS)
        if update.stream is not None and self.weighting != "sum":
            refuse(Refusal.SETTINGS, "the running sums of a stream are added up as they are: its weighting is 'sum'")
        known = next(iter(self.members.values()), None)
        if known is not None and (known.stream is None) != (update.stream is None):
            refuse(Refusal.SETTINGS, "one model is made of updates of one round or of a stream, not of both")
        if known is not None and budget_kind(known.budget) != budget_kind(update.budget):
            refuse(Refusal.SETTINGS, MIXED)
        plan = self._plan_of(update)
        for item in plan.items:
            shape = (len(self.schema.classes), item.cells)
            demand(update.values[item.key].shape == shape, f"the {item.what} have the wrong shape")
        self._check_certificate(update, plan)
        check(update.values, update.rows, plan, self.most_rows, times_of(plan, update.stream))

    def _plan_of(self, update: Update) -> Plan:
        try:
            plan = update.plan(self.schema)
        except BudgetError as error:
            refuse(Refusal.SETTINGS, f"the update's settings make no plan: {error}")
        demand({item.key for item in plan.items} == set(update.values), "the update lacks a statistic or has one more")
        return plan

    def _check_certificate(self, update: Update, plan: Plan) -> None:
        held = update.certificate
        claimed = (held.schema_hash, held.adjacency, held.contributions, held.epsilon, held.delta, held.private)
        epsilon, delta, _ = plain_budget(plan.budget).values()
        facts = (self.schema.hash, plan.adjacency, plan.contributions, epsilon, delta, plan.budget.private)
        demand(claimed == facts and held.ledger == record(plan.node), "the certificate does not belong to the update")

    def counts(self, member: Member) -> bool:
        """Whether a node's update enters the model."""
        return self.cutoff is None or member.noise_level <= self.cutoff

    def _accumulate(self, update: Update, sign: int) -> None:
        combine = checked_add if sign > 0 else checked_subtract
        try:
            fresh = {key: combine(self.sums.get(key, np.zeros_like(v)), v) for key, v in update.values.items()}
        except StatisticsError:
            refuse(Refusal.IMPLAUSIBLE, "the update's integers are larger than any sum may be")
        self.sums = fresh

    # ---- what follows

    def _counted(self) -> list[Member]:
        counted = [member for member in self.members.values() if self.counts(member)]
        if not counted:
            reason = "every node was left out by the cutoff" if self.members else "no node has sent an update yet"
            raise BudgetError(f"there is nothing to make a model of: {reason}")
        return counted

    def release(self) -> Release:
        """The plain sum as a release: its noise is that of all nodes together."""
        return summed_release(self.schema, self.settings or Settings(), self._counted(), self.sums)

    def certificate(self) -> Certificate:
        """What the whole guarantees: the dearest node counts, or the sum if a person may be at several."""
        self._counted()
        return aggregate_certificate(
            self.schema, self.settings or Settings(), list(self.members.values()), self.overlap
        )

    def model(self, smoothing: float = 1.0) -> NaiveBayesModel:
        """The model of all nodes that count, with the certificate of the whole."""
        certificate = self.certificate()
        prior, likelihoods = self._estimate(smoothing)
        return NaiveBayesModel(self.schema, prior, likelihoods, certificate)

    def _estimate(self, smoothing: float) -> tuple[Floats, list[Likelihood]]:
        if self.weighting in {"sum", "cut-off"}:
            return estimate(self.release(), smoothing)
        stack = Stack.of(self.kept())
        if self.weighting == "inverse-variance":
            return weighted_estimate(stack, smoothing)[:2]
        return robust_estimate(stack, self.weighting, self.robust, smoothing)

    def kept(self) -> list[Release]:
        """The kept updates as releases, in the order of the nodes' names so that the order of joining is forgotten."""
        return [self.updates[node].release(self.schema) for node in sorted(self.updates)]

    def weights(self) -> dict[str, float]:
        """Each node's share of the model: of the rows as reported, after weighting; they add up to one."""
        if self.weighting != "inverse-variance" or not self.members:
            return row_shares(list(self.members.values()), self.counts)
        weights = weighted_estimate(Stack.of(self.kept()))[2]
        whole = float(weights.sum())
        return {
            node: float(weight) / whole if whole else 0.0
            for node, weight in zip(sorted(self.members), weights, strict=True)
        }

    def table(self) -> list[dict[str, Any]]:
        """One record per node: its name, ε, δ, rows as reported, noise level and weight."""
        return member_table(list(self.members.values()), self.weights())

    # ---- on disk

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the kept updates, or the running sums where updates are not kept, whole or not at all."""
        fields: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "schema": self.schema.to_dict(),
            **{name: getattr(self, name) for name in OPTIONS},
            "settings": None if self.settings is None else self.settings.plain(),
        }
        if self.keep:
            fields["updates"] = [base64.b64encode(update.to_bytes()).decode() for update in self.updates.values()]
        else:
            fields["members"] = [member.plain() for member in self.members.values()]
            fields["sums"] = [[kind, name, sums.tolist()] for (kind, name), sums in self.sums.items()]
        write_text(path, json.dumps(fields, ensure_ascii=False, allow_nan=False) + "\n", private=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Aggregate:
        """Read what `save` wrote; updates are examined again, and a damaged file is an error of one sentence."""
        try:
            fields = parse_json(Path(path).read_bytes())
            if not isinstance(fields, dict) or fields.get("format") != FORMAT or fields.get("version") != VERSION:
                raise StatisticsError(f"{path} is no federated state of version {VERSION}")
            return cls._rebuilt(fields)
        except OSError as error:
            raise StatisticsError(f"cannot read the federated state {path}: {error.strerror or error}") from None
        except StatisticsError:
            raise
        except (DiscreetError, KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise StatisticsError(f"{path} is a damaged federated state: {error}") from None

    @classmethod
    def _rebuilt(cls, fields: dict[str, Any]) -> Aggregate:
        options = {key: fields[key] for key in OPTIONS}
        settings = None if fields["settings"] is None else Settings.of(**fields["settings"])
        result = cls(Schema.from_dict(fields["schema"]), settings=settings, **options)
        if result.keep:
            for text in fields["updates"]:
                result.add(Update.from_bytes(base64.b64decode(text, validate=True)))
            return result
        members = [Member.read(record) for record in fields["members"]]
        result.members = {member.node: member for member in members}
        result.sums = {(kind, name): np.array(rows, dtype=np.int64) for kind, name, rows in fields["sums"]}
        if members and settings is None:
            raise ValueError("it has nodes but no settings")
        for kind in {member.kind for member in members if result.counts(member)}:
            plan = node_plan(result.schema, settings or Settings(), *kind)
            shapes = {item.key: (len(result.schema.classes), item.cells) for item in plan.items}
            if shapes != {key: sums.shape for key, sums in result.sums.items()}:
                raise ValueError("its sums do not fit its settings")
        return result
