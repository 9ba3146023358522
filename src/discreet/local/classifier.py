"""LocalNB: Naive Bayes from randomised reports, as a scikit-learn classifier that plays every person's part."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np

from discreet import sources
from discreet.bayes.estimate import estimate as estimate_exactly
from discreet.bayes.export import NaiveBayesEstimator
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import make_plan
from discreet.bayes.release import release
from discreet.local.bulk import People, choose_many
from discreet.local.campaign import Campaign, Question, check_numeric
from discreet.local.estimate import ONE_PROCESS, Tally, model_of
from discreet.local.oracles import Oracle
from discreet.mechanisms.noise import ExactSampler, SimulationSampler, sampler_for
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.certifier import certify, read_under
from discreet.privacy.ledger import Response
from discreet.privacy.payer import Payer
from discreet.privacy.plan import Paid, check_smoothing
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.sources import Progress, Rows, charge, collect


class LocalNB(NaiveBayesEstimator):
    """Naive Bayes from reports that each person's device randomises; every row plays one person.

    Each person draws what to report about before the row is looked at, and reports with ε-local privacy. The model is
    learned from the reports alone. To collect reports from real devices, use `LocalClient` and `Collector`: this
    estimator shows beforehand what they would learn.

    Parameters
    ----------
    epsilon : float, default 1.0
        What all that one person sends may cost; `math.inf` lets everybody report everything exactly.
    {schema}
    oracle : "auto" or a name
        How values out of a list are reported: "grr", "sue", "oue", "she", "the", "olh", "subset", "hadamard", or for
        each input the one of lowest variance.
    numeric : {"bins", "laplace", "one-bit", "piecewise", "hybrid", "laplace-all"}
        How numbers are reported: by their bin, or as numbers from which bell curves are estimated.
    reports : int, default 1
        Inputs that each person reports about, at epsilon/reports each.
    theta : float or None
        The threshold of the oracle "the".
    smoothing : float, default 1.0
        People added to every cell.
    random_state : int, Generator or None
        A seed makes the fit a reproducible simulation, in which sums of reports are drawn by their law; the
        certificate says so. Without one every report is drawn by itself from the operating system's randomness.
    {unexpected}

    Attributes
    ----------
    model_ : NaiveBayesModel
    {certificate_}
    campaign_ : Campaign or None
        The public design, with the mechanism of each input; None without privacy.
    tallies_ : list of Tally
        What the reports said in sum.
    {classes_}
    """

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, oracle: str = "auto", numeric: str = "bins",
        reports: int = 1, theta: float | None = None, smoothing: float = 1.0, random_state: Any = None,
        unexpected: str = "refuse",
    ) -> None:  # fmt: skip
        self._configure(locals())

    def _fit(self, X: Any, y: Any, payer: Payer, progress: Progress | None, *_: Any) -> Self:
        check_smoothing(self.smoothing)
        grant = Budget(self.epsilon)
        if isinstance(self.schema, str):
            payer.allow_inference(grant)
        smoothing, sampler = check_smoothing(self.smoothing), sampler_for(self.random_state)
        rng = sampler.rng if isinstance(sampler, SimulationSampler) else None
        schema = self._schema_for(X, y)
        spent = partial(Paid, schema, grant, Adjacency.REPLACE, 1)
        if grant.epsilon is None:
            charge(payer, spent(Response("none", "everything, exactly", Fraction(0))), X, self, schema=schema)
            self.campaign_, self.tallies_ = None, []
            self.model_ = self._exact_model(X, y, schema, smoothing, progress)
        else:
            campaign = Campaign(
                schema, self.epsilon, oracle=self.oracle, numeric=self.numeric, reports=self.reports, theta=self.theta
            )
            reports = Response("local reports", "all that one person sends", grant.epsilon)
            charge(payer, spent(reports), X, self, schema=schema)
            self.campaign_ = campaign
            self.tallies_ = survey(campaign, X, y, unexpected=self.unexpected, rng=rng, progress=progress)
            self.model_ = model_of(
                schema, self.tallies_, smoothing=smoothing, simulation=rng is not None, sampler=ONE_PROCESS
            )
        self.model_.certificate = self.certificate_ = read_under(self.model_.certificate, self.unexpected)
        self._describe(X, schema)
        return self

    def _exact_model(self, X: Any, y: Any, schema: Schema, smoothing: float, progress: Any) -> NaiveBayesModel:
        """Everybody reports everything exactly: the non-private twin."""
        check_numeric(self.numeric)
        budget, shape = Budget(math.inf), "histogram" if self.numeric == "bins" else "gaussian"
        plan = make_plan(schema, budget, adjacency=Adjacency.REPLACE, numeric=shape)
        rows = collect(X, schema, y, detail=plan.detail, unexpected=self.unexpected, progress=progress)
        released = release(rows, plan, ExactSampler())
        certificate = certify(plan, node=released.node, sampler="none", simulation=False, where=None)
        return NaiveBayesModel(schema, *estimate_exactly(released, smoothing), certificate)


def survey(
    campaign: Campaign,
    X: Any,
    y: Any = None,
    *,
    unexpected: str = REFUSE,
    rng: np.random.Generator | None = None,
    progress: Any = None,
) -> list[Tally]:
    """What everybody in the data reports, summed up for each question of a campaign.

    With `rng` the sums are drawn by their law where it is known; without, every report is drawn by itself. With
    `unexpected="absorb"` everybody reports all the same: who has no answer reports as if it were the first one.
    """
    sums: list[Any] = [0] * len(campaign.questions)
    asked = np.zeros(len(campaign.questions), np.int64)
    people = sources.open(
        X, campaign.schema, y, contributions=1, unexpected=unexpected, draw=None if rng is None else rng.bytes,
        progress=progress,
    )  # fmt: skip
    for found in people.map(lambda rows: _batch(campaign, rows, rng), keep=True):
        for place, (count, support) in found.items():
            asked[place] += count
            sums[place] = sums[place] + support
    return [
        Tally(question.input.index, question.mechanism, int(asked[place]), sums[place], campaign.reports)
        for place, question in enumerate(campaign.questions)
    ]


def _batch(campaign: Campaign, rows: Rows, rng: np.random.Generator | None) -> dict[int, tuple[int, Any]]:
    chosen, people = choose_many(campaign, rows.size, rng), People(campaign.schema, rows)
    people.places  # noqa: B018 - every row is checked, whatever is asked about it
    found = {}
    for place, question in enumerate(campaign.questions):
        who = np.flatnonzero((chosen == place).any(axis=1))
        if len(who):
            found[place] = (len(who), _support(question, people.answers(question.input, who), rng))
    return found


def _support(question: Question, answers: tuple[Any, ...], rng: np.random.Generator | None) -> Any:
    mechanism = question.mechanism
    if rng is None:
        return mechanism.support(mechanism.perturb(*answers))
    if isinstance(mechanism, Oracle):
        return mechanism.simulate(np.bincount(answers[0], minlength=mechanism.d), rng)
    return mechanism.simulate(*answers, rng)
