"""PrivateNB: Naive Bayes with differential privacy, as a scikit-learn classifier."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Self

from discreet.bayes.bernoulli import collect_tables, parted, parted_estimate, thresholded_estimate
from discreet.bayes.denoising import READINGS
from discreet.bayes.estimate import estimate, noise_of
from discreet.bayes.likelihoods import is_unbinned, numeric_name
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan, make_plan
from discreet.bayes.release import BATCHES, Release, release, release_certificate
from discreet.bayes.smooth import release_staged
from discreet.bayes.smooth_settings import SmoothSettings, asked_smooth, refuse_moved, refusing_moved
from discreet.bayes.steps import StepEstimator
from discreet.bayes.streamed import streamed
from discreet.errors import BudgetError, DataError
from discreet.estimators.purchase import Purchase
from discreet.mechanisms.noise import Sampler, sampler_for
from discreet.privacy.ledger import Node, Parallel, Tab
from discreet.privacy.payer import Payer, paying
from discreet.privacy.plan import check_smoothing
from discreet.schema import Schema
from discreet.sources import Progress, Source, charge, trusting


class PrivateNB(StepEstimator):
    """Naive Bayes on categorical and numeric features with differential privacy.

    Parameters
    ----------
    {epsilon, delta, schema, adjacency}
    mechanism : {"auto", "laplace", "gaussian", "knorm", "residual"}
        The noise. "knorm" (pure ε) draws one noise for bundles of count tables, shaped by what one row can change: far
        less noise for many features. "residual" is Gaussian noise on class totals and on what tables have beside them.
        "auto" takes what errs least: with a delta one of the Gaussian ones or pure ε, else "knorm", if the budget is
        split by "weighted", or Laplace.
    numeric : {"histogram", "gaussian", "truncated-gaussian"} or any likelihood that is registered
        How numbers are modelled: by bins, by a bell curve per class, or as docs/how-to-add/likelihood.md shows.
    {split, smoothing, contributions, random_state}
    smooth : SmoothSettings, optional
        Noise on the moments of a bell curve by a smooth bound that follows the data, instead of by what the public
        bounds allow.
    numeric_weight : float or str, default 2
        The budget of a numeric feature beside that of a categorical one, such as 2 or "2:1".
    strategy : {"together", "partition"}
        Every feature counted on all rows with a share of the budget, or each on a random part of the rows with all
        of it.
    threshold : float, optional
        Noisy counts below this quantile of the noise, such as 0.65, are raised to it, instead of being made
        consistent with the class totals.
    reading : {"shrunk", "plain", "bayes"}
        How noisy tables are read, at no cost: "shrunk" infers what each cell says from the law of the noise, so that a
        feature drowned in it falls silent; "plain" takes counts as they are, made consistent and padded; "bayes"
        averages over the posterior of the true counts. Without noise all three are the same.
    {bounds, edges, bounds_share, unexpected}
    stream : int, optional
        The most steps of a stream: each `partial_fit` is one, all of them are one charge, and there is a model after
        each, whose noise grows with the logarithm of the steps.
    state : path, optional
        Where the stream is kept between steps, so that it can go on in another process; as private as the rows.

    Attributes
    ----------
    model_ : NaiveBayesModel
    {certificate_, classes_}
    """

    _spends_delta = True

    @refusing_moved
    def __init__(
        self, epsilon: float = 1.0, delta: float = 0.0, schema: Schema | str | None = None,
        adjacency: str = "add-remove", mechanism: str = "auto", numeric: str = "histogram", split: Any = "weighted",
        smoothing: float = 1.0, contributions: int = 1, random_state: Any = None, smooth: SmoothSettings | None = None,
        numeric_weight: Any = 2, strategy: str = "together", threshold: float | None = None, reading: str = "shrunk",
        bounds: str = "declared", edges: str | None = None, bounds_share: float = 0.1, unexpected: str = "refuse",
        stream: int | None = None, state: str | None = None,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the smooth bound are reached as `smooth__trim` even where there is none yet."""
        refuse_moved(params)
        if any(name.startswith("smooth__") for name in params) and params.get("smooth", self.smooth) is None:
            params["smooth"] = SmoothSettings()
        super().set_params(**params)
        return self

    # ---- fitting

    def _purchase(self) -> Purchase | None:
        bought = super()._purchase()
        if bought is not None and self.stream is not None:
            raise BudgetError("steps share one schema: find its bounds first by private_bounds, then use partial_fit")
        return bought

    def _check_bought(self, plan: Plan, *bought: Any) -> None:
        if plan.stream is not None:
            raise BudgetError("a stream is fitted step by step: use partial_fit, or leave stream out")

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, ledger: Payer | None = None, account: Any = None
    ) -> Self:
        """Add a batch of new people. Batches compose in parallel under the assumption the certificate states.

        With `stream` it is a step: the sums of all steps have noise that hardly grows, where that of batches adds up.
        """
        if self._purchase() is not None:
            raise BudgetError("batches share one schema: find its bounds first by private_bounds, then use partial_fit")
        earlier: Release | None = getattr(self, "release_", None)
        payer = paying(ledger, account, owner=self)
        if self.stream is not None or self.state is not None:
            return self._step(X, y, payer)
        if isinstance(self.schema, str) and earlier is None:
            payer.allow_inference(self._budget())
        inferred = isinstance(self.schema, str) and earlier is not None
        schema = earlier.plan.schema if inferred and earlier else self._schema_for(X, y, classes)
        if classes is not None and {schema.label.lookup.find(c) for c in classes} != set(range(len(schema.classes))):
            raise DataError("classes must be those of the schema")
        plan = trusting(self._plan(schema), X)
        if plan.smooth is not None:
            raise BudgetError(
                "trimmed statistics of batches do not add up: use fit on all rows, or leave smooth out in batches"
            )
        if earlier is not None and plan.items != earlier.plan.items:
            raise BudgetError("partial_fit goes on with the settings of the first batch: use fit to start anew")
        if earlier is not None:
            self._check_width(X)
        sampler = sampler_for(self.random_state, 0 if earlier is None else earlier.batches)
        tab: Tab | None = getattr(self, "_tab", None)
        if tab is None or earlier is None or not tab.covers(payer, plan.node, self):
            self._tab = charge(payer, plan, X, self, schema=schema)
        self._keep(self._release(self._source(X, y, plan, sampler, None), plan, sampler, earlier))
        self._describe(X, schema)
        return self

    def _unbinned(self) -> bool:
        return is_unbinned(self.numeric)

    def _plan(self, schema: Schema, *_: Any) -> Plan:
        check_smoothing(self.smoothing)
        if self.reading not in READINGS:
            raise BudgetError(f"reading must be one of {', '.join(READINGS)}, not {self.reading!r}")
        make = partial(
            make_plan,
            schema,
            **self._people(),
            numeric=self.numeric,
            split=self.split,
            numeric_weight=self.numeric_weight,
            **asked_smooth(self.smooth),
            together=self.strategy == "together" and self.threshold is None,
        )
        if self.stream is None and self.state is None:
            return parted(make(budget=self._budget(), mechanism=self.mechanism), self.strategy, self.threshold)
        if self.stream is None:
            raise BudgetError("state keeps a stream: say of how many steps at most by stream=, or resume it")
        if self.strategy != "together" or self.threshold is not None:
            raise BudgetError("a stream counts every feature on all rows: leave strategy and threshold as they are")
        return streamed(make, self._budget(), self.mechanism, self.stream)

    def _release(self, source: Source, plan: Plan, sampler: Sampler, *earlier: Release | None) -> NaiveBayesModel:
        """The model of the rows; of a batch, together with what was released of `earlier` ones."""
        if plan.parted is not None:
            released = collect_tables(source, plan, sampler)
        elif plan.smooth is not None:
            released = release_staged(source.statistics(plan.detail), plan, sampler)
        else:
            released = release(source.statistics(plan.detail), plan, sampler)
        if not earlier:
            return self._model(released, released.node)
        whole = released if earlier[0] is None else earlier[0] + released
        node = Parallel("batches of different people", BATCHES, (plan.node,) * whole.batches)
        return self._model(whole, node)

    def _model(self, released: Release, node: Node) -> NaiveBayesModel:
        self.release_ = released
        smoothing = check_smoothing(self.smoothing)
        if released.plan.parted is not None:
            prior, likelihoods = parted_estimate(released, smoothing)
        elif self.threshold is not None:
            prior, likelihoods = thresholded_estimate(released, smoothing, float(self.threshold))
        else:
            prior, likelihoods = estimate(released, smoothing, self.reading)
        certificate, noise = release_certificate(released, node), noise_of(released)
        return NaiveBayesModel(released.plan.schema, prior, likelihoods, certificate, noise)


def twin_of(model: NaiveBayesModel, data: Any, y: Any = None, *, progress: Progress | None = None) -> NaiveBayesModel:
    """The same kind of model fitted without noise: for comparison, never for release."""
    numeric = numeric_name(model.likelihoods, model.schema.features)
    return PrivateNB(epsilon=math.inf, schema=model.schema, numeric=numeric).fit(data, y, progress=progress).model_
