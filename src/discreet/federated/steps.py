"""Steps of a stream of a federation in one process: one partial_fit each, one charge for all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.steps import COPIED
from discreet.bayes.stream import Stream
from discreet.errors import BudgetError, SchemaError
from discreet.federated.aggregate import Aggregate
from discreet.mechanisms.noise import sampler_for
from discreet.nodes.estimator import NodesNB, NodesPlan
from discreet.nodes.running import running_update
from discreet.privacy.payer import Payer, paying
from discreet.privacy.plan import check_smoothing
from discreet.sources import HeldRows, charge

FREE = ("schema", "partition", "smoothing", "random_state")  # what a step may have of its own, or is looked at apart


def _stepped(estimator: Any) -> bool:
    """Whether there are steps to take; whoever looks for partial_fit elsewhere is told that there is none."""
    if estimator.stream is None:
        raise AttributeError("partial_fit takes a step of a stream: say of how many at most by stream=, or use fit")
    return True


class SteppedNodes(NodesNB):
    """Nodes that each keep a stream of their own; what is added up are their sums of all steps so far."""

    stream: int | None

    def _empty(self, schema: Any, settings: Any) -> Aggregate:
        raise NotImplementedError

    def _check_bought(self, plan: NodesPlan, *bought: Any) -> None:
        if self.stream is not None:
            raise BudgetError("a stream is fitted step by step: use partial_fit, or leave stream out")

    @available_if(_stepped)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, ledger: Payer | None = None, account: Any = None
    ) -> Self:
        """Take one step: the rows of people who have come since, dealt to the nodes; with `stream` alone.

        The whole stream is charged with its first step. After each there is a model of all rows so far.
        """
        if isinstance(self.schema, str):
            raise SchemaError("the steps of a stream share one schema, which no single step can tell: declare it")
        payer = paying(ledger, account, owner=self)
        schema = self._schema_for(X, y, classes)
        begun: tuple[NodesPlan, list[Stream], Any] | None = getattr(self, "_begun", None)
        plan, told = self._plan(schema), self._told(schema)
        if begun is None:
            begun = plan, [Stream(one) for one in plan.plans], told
            self._charged = charge(payer, plan, X, self, schema=schema)
            self._begun = begun
        elif any(not isinstance(one, Stream) for one in begun[1]):
            raise BudgetError(COPIED)
        elif begun[2] != told:
            raise BudgetError("a stream goes on with the settings of its first step: make a new estimator for another")
        else:
            self._charged.check_step(payer)
        plan, streams, _ = begun
        for one in streams:
            one.check_open()
        source = self._source(X, y, plan, self._sampler(), None)
        # Nothing before the next lines has changed the streams: a step that fails leaves them all as they were.
        taken, model, nodes = self._taken(source.held(), plan, streams)
        self._begun = plan, taken, told
        self.step_, self.nodes_ = taken[0].step, nodes
        self._keep(model)
        self._describe(X, schema)
        return self

    def _told(self, schema: Any) -> tuple[Any, ...]:
        """What must stay the same from step to step; budgets as they were asked for, since they may be drawn."""
        own = {name: value for name, value in self.get_params(deep=False).items() if name not in FREE}
        own["epsilons"] = np.asarray(self.epsilons).tolist()
        rule = self.partition if isinstance(self.partition, str) else None
        return schema, rule, own

    def _taken(
        self, rows: HeldRows, plan: NodesPlan, streams: list[Stream]
    ) -> tuple[list[Stream], NaiveBayesModel, list[dict[str, Any]]]:
        """The streams after one more step, the model of all sums so far and its nodes; the streams given stay.

        Each node counts the rows dealt to it and draws what this step ends. Draws of a step that fails are released
        nowhere.
        """
        if len({one.step for one in streams}) != 1:
            raise BudgetError("the nodes of this stream are not at one step: it cannot be gone on with")
        parts = rows.parts(self._where(rows), len(streams), plan.plans[0].detail)
        counted = [parts.statistics(number) for number in range(len(streams))]
        aggregate, digits = self._empty(plan.schema, plan.settings), len(str(len(streams) - 1))
        taken = [replace(one, exact=[*one.exact], noisy=[*one.noisy]) for one in streams]
        for number, (one, statistics) in enumerate(zip(taken, counted, strict=True)):
            one.add(statistics, sampler_for(self._seed, one.step * len(streams) + number))
            name = f"node-{number:0{digits}d}"
            aggregate.add(running_update(one, plan.settings, node=name, round_id="stream"))
        return taken, self._certified(aggregate.model(check_smoothing(self.smoothing)), plan), aggregate.table()
