"""Steps of a stream: one partial_fit each, one charge for all of them, a whole model after every one."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import Any, Self

from discreet.bayes.export import NaiveBayesEstimator
from discreet.bayes.plan import Plan
from discreet.bayes.stream import LOST, Stream, locked, stream_settings
from discreet.errors import BudgetError, SchemaError
from discreet.mechanisms.noise import sampler_for
from discreet.privacy.payer import Payer
from discreet.schema import Schema
from discreet.sources import charge, trusting

COPIED = (
    "this is a copy of an estimator whose stream has begun, and two that go on with one stream would release its noise "
    "twice: go on with the one it was copied from, or keep the stream in a file by state=PATH"
)


class StepEstimator(NaiveBayesEstimator):
    """Naive Bayes whose batches may be steps of a stream."""

    @classmethod
    def resume(cls, state: str | os.PathLike[str]) -> Self:
        """The estimator of a stream that was begun with `state=PATH`, with the model of its last step, if it has one.

        At no cost: noise is taken from the file and never drawn again.
        """
        settings = stream_settings(state)
        made = cls(**settings | {"schema": Schema.from_dict(settings["schema"]), "state": os.fspath(state)})
        stream = Stream.load(state, made._plan(made._public_schema()))
        if stream.step:
            made._stepped(stream)
            made._describe(None, stream.plan.schema)
        return made

    def _step(self, X: Any, y: Any, payer: Payer) -> Self:
        """One step: charge the stream if it is the first, count the rows, draw, keep, and only then release."""
        if isinstance(self.schema, str):
            raise SchemaError("the steps of a stream share one schema, which no single step can tell: declare it")
        schema = self._schema_for(X, y)
        plan = self._plan(schema)
        trusts = trusting(plan, X).trusts
        with nullcontext() if self.state is None else locked(self.state):
            stream = self._found(plan)
            begun = stream is not None
            stream = Stream(plan) if stream is None else stream
            stream.check_open()
            charged = getattr(self, "_charged", None)
            if begun and charged is not None:
                charged.check_step(payer)
            sampler = sampler_for(self.random_state, stream.step)
            if stream.step:
                self._describe(X, schema)
                self._check_width(X)
            if not begun:
                self._charged = charge(payer, plan, X, self, schema=schema)
                self._kept(stream)
            source = self._source(X, y, plan, sampler, None)
            stream.add(source.statistics(plan.detail, empty=True), sampler, trusts)
            self._kept(stream)
        self._stepped(stream)
        self._describe(X, schema)
        return self

    def _found(self, plan: Plan) -> Stream | None:
        """The stream that this step belongs to; None if it is to begin."""
        began = getattr(self, "_stream", None)
        if self.state is not None:
            if os.path.exists(self.state):
                return Stream.load(self.state, plan)
            if hasattr(self, "release_"):
                raise BudgetError(LOST.format(self.state))
            return None
        if began is None and hasattr(self, "release_"):
            raise BudgetError(COPIED)
        if began is not None and began.plan != plan:
            raise BudgetError("a stream goes on with the settings of its first step: make a new estimator for another")
        return began

    def _kept(self, stream: Stream) -> None:
        if self.state is None:
            self._stream = stream
            return
        settings = {name: value for name, value in self.get_params(deep=False).items() if name != "state"}
        stream.save(self.state, settings | {"schema": stream.plan.schema.to_dict()})

    def _stepped(self, stream: Stream) -> None:
        released = stream.release()
        self.step_ = stream.step
        self._keep(self._model(released, released.node))

    def _model(self, released: Any, node: Any) -> Any:
        raise NotImplementedError
