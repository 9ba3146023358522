"""The task of a coordinator: which round to run, under which settings, and where its model goes."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.federated.aggregate import Aggregate
from discreet.federated.shares import SharePlan, share_plan
from discreet.files import parse_json, write_text
from discreet.nodes.running import NOT_MASKED
from discreet.nodes.settings import Settings, node_plan
from discreet.privacy.budget import Budget
from discreet.privacy.plan import check_smoothing
from discreet.schema import Schema


@dataclass(frozen=True)
class RoundTask:
    """All that a round needs; the values are plain, so that they travel in Flower's run configuration."""

    schema: str
    out: str
    nodes: int
    at_least: int = 0
    known: int = 0
    most_rows: int = 0
    round: str = ""
    state: str = ""
    adjacency: str = "add-remove"
    numeric: str = "histogram"
    split: str = "weighted"
    contributions: int = 1
    weighting: str = "sum"
    smoothing: float = 1.0
    wait: float = 600.0
    resend: float = 30.0
    secure: bool = False
    keys: str = ""
    epsilon: float = 0.0
    delta: float = 0.0
    mechanism: str = "auto"
    colluding: int = 1
    dropouts: int = 0
    stage: float = 60.0
    cutoff: float = 0.0
    robust: float = 0.1
    overlap: bool = False
    stream: int = 0
    step: int = 0

    def __post_init__(self) -> None:
        if self.nodes < 1 or self.at_least > self.nodes:
            raise DiscreetError("a round needs at least one node, and no more at least than it expects")
        if self.wait <= 0 or self.resend <= 0:
            raise DiscreetError("times are numbers of seconds above zero")
        if self.secure and (not self.keys or not self.epsilon):
            raise DiscreetError("a secure round needs the nodes' public keys and the epsilon of the whole")
        if self.secure and self.weighting != "sum":
            raise DiscreetError("under masks nobody sees single updates: the only weighting is 'sum'")
        if self.secure and self.overlap:
            raise DiscreetError("under masks one noise is for all nodes: count a person's rows by contributions")

        if self.stream and self.secure:
            raise DiscreetError(NOT_MASKED)
        if self.stream and self.weighting != "sum":
            raise DiscreetError("the running sums of a stream are added up as they are: its weighting is 'sum'")
        if (self.step and not self.stream) or self.stream < 0 or self.step < 0:
            raise DiscreetError("say by stream of how many steps at most, and by step which one, from 1 on")

    @classmethod
    def read(cls, config: Mapping[str, Any]) -> RoundTask:
        """A task out of a run configuration, whose names have dashes."""
        known = {key.replace("-", "_"): value for key, value in config.items()}
        fields = {key: value for key, value in known.items() if key in cls.__dataclass_fields__}
        if not fields.get("schema") or not fields.get("out"):
            raise DiscreetError("the run configuration must name a schema and an out file: see --run-config")
        for name in ("wait", "resend", "smoothing", "epsilon", "delta", "stage", "cutoff", "robust"):
            if name in fields:
                fields[name] = float(fields[name])
        return cls(**fields)

    def config(self) -> dict[str, str | int | float | bool]:
        """The task as a run configuration."""
        return {key.replace("_", "-"): value for key, value in asdict(self).items()}

    @property
    def settings(self) -> Settings:
        """What all nodes have in common."""
        return Settings.of(self.adjacency, self.numeric, self.split, self.contributions)

    def aggregate(self, schema: Schema) -> Aggregate:
        """The aggregate of a new round."""
        cutoff, most_rows = self.cutoff or None, self.most_rows or None
        return Aggregate(
            schema, settings=self.settings, weighting=self.weighting, cutoff=cutoff, overlap=self.overlap,
            most_rows=most_rows, robust=self.robust,
        )  # fmt: skip

    def shares(self, schema: Schema, nodes: int) -> SharePlan:
        """The shares of noise of a round under masks."""
        budget = Budget(self.epsilon, delta=self.delta)
        plan = node_plan(schema, self.settings, budget, self.mechanism)
        return share_plan(plan, nodes, colluding=self.colluding, dropouts=self.dropouts)

    def check(self, nodes: int) -> None:
        """Raise if no round of this task can come to an end, whoever answers: before anything is started."""
        schema = Schema.load(self.schema)
        self.aggregate(schema)
        check_smoothing(self.smoothing)
        if self.secure:
            self.shares(schema, nodes)
        elif self.epsilon:
            node_plan(
                schema, self.settings, Budget(self.epsilon, delta=self.delta), self.mechanism, self.stream or None
            )

    def essence(self, schema: Schema) -> str:
        """What must not change while a round is resumed."""
        names = ("adjacency", "numeric", "split", "contributions", "weighting", "secure", "cutoff", "robust", "overlap")
        steps = [self.stream] if self.stream else []
        return json.dumps([schema.hash, *(getattr(self, name) for name in names), *steps])


class KeptRound:
    """A round on disk: its name and the updates so far, so that a coordinator that was cut off goes on with it."""

    def __init__(self, task: RoundTask, schema: Schema) -> None:
        self.task, self.schema = task, schema
        self.directory = Path(task.state) if task.state else None
        self.round_id = task.round
        if not self.round_id:
            unfinished = self._unfinished()
            self.round_id = unfinished or secrets.token_hex(8)
        if self.directory is not None:
            mark = {"round": self.round_id, "essence": task.essence(schema)}
            write_text(self.directory / "round.json", json.dumps(mark), private=True)

    @property
    def at(self) -> tuple[int, int] | None:
        """Of how many steps of a stream, and which one this is; None of a round by itself."""
        return None

    def complete(self, aggregate: Aggregate) -> list[str]:
        """Bring in what is known of nodes that have not answered; who they are."""
        return []

    def _unfinished(self) -> str | None:
        if self.directory is None or not (self.directory / "round.json").is_file():
            return None
        try:
            mark = parse_json((self.directory / "round.json").read_text())
            return str(mark["round"]) if mark["essence"] == self.task.essence(self.schema) else None
        except (ValueError, KeyError, TypeError):
            return None

    @property
    def path(self) -> Path | None:
        """Where the aggregate of this round is kept."""
        return None if self.directory is None else self.directory / f"aggregate-{self.round_id}.json"

    def aggregate(self) -> Aggregate:
        """The aggregate of this round: what was kept of it, or a new one."""
        if self.path is not None and self.path.is_file():
            return Aggregate.load(self.path)
        return self.task.aggregate(self.schema)

    def keep(self, aggregate: Aggregate) -> None:
        """Write down the aggregate after each update."""
        if self.path is not None:
            aggregate.save(self.path)

    def finish(self) -> None:
        """The model is written: the next round is a new one."""
        if self.directory is not None:
            (self.directory / "round.json").unlink(missing_ok=True)
