"""SelectiveNB: private feature selection and private Naive Bayes inside one budget."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from discreet.bayes.estimate import estimate
from discreet.bayes.export import NaiveBayesEstimator
from discreet.bayes.model import NaiveBayesModel
from discreet.bayes.plan import Plan, make_plan
from discreet.bayes.release import release
from discreet.errors import BudgetError
from discreet.estimators.base import CountedEstimator
from discreet.estimators.counts import ClassCounts
from discreet.mechanisms.joint import MOST_EVENTS
from discreet.mechanisms.noise import Sampler
from discreet.mechanisms.odds import odds_for
from discreet.privacy.budget import Adjacency, Budget, number
from discreet.privacy.certificate import WHICHEVER
from discreet.privacy.certifier import certify
from discreet.privacy.ledger import Charge, Node, Sequential, SmoothCharge, concentrated, cost
from discreet.privacy.payer import Payer, paying
from discreet.privacy.plan import Paid, check_smoothing, checked_contributions
from discreet.privacy.unexpected import REFUSE, check_unexpected
from discreet.schema import Numeric, Schema
from discreet.selection.kbest import SCORE, narrowed
from discreet.selection.plan import CONCENTRATED, SelectionPlan, feature_count, make_selection_plan
from discreet.selection.select import WHAT, Selection, check_counted, reduced_schema, reduced_statistics, select
from discreet.sources import BINS, Source, is_outside
from discreet.statistics import Statistics

Floats = NDArray[np.float64]
Parts = tuple[Fraction, Fraction, Fraction] | None
COUNTED = Fraction(1, 50)  # of the budget buys the number of rows that k="auto" follows

LATER = "selection and training at this cost at most"


class SelectiveNB(NaiveBayesEstimator, CountedEstimator):
    """Naive Bayes on the features that a private selection keeps; one budget pays for choice and training.

    Parameters
    ----------
    epsilon : float, default 1.0
        The privacy budget of each fit: the number of rows (if k="auto" needs it), the choice and the training.
    schema : Schema
        What is public about the data; numbers are modelled by bins.
    k : int or "auto"
        How many features to keep; "auto" follows a noisy number of rows, the budget and the number of features.
    share : float, default 0.5
        The part of the budget that pays for the choice.
    {criterion, selector, max_rows, threshold, adjacency, contributions, split, smoothing, random_state, unexpected}
    {delta}

    Attributes
    ----------
    model_ : NaiveBayesModel
        The released model; it asks for the chosen features only.
    selection_ : Selection
    {certificate_, classes_}
    """

    _texts = SCORE
    of_kinds = True  # what it fits is of a registered kind
    _spends_delta = True

    def __init__(
        self, epsilon: float = 1.0, schema: Schema | str | None = None, k: Any = "auto", share: float = 0.5,
        criterion: str = "hits", selector: str = "permute-and-flip", adjacency: str = "add-remove",
        contributions: int = 1, max_rows: int | None = None, threshold: int | None = None, split: Any = "weighted",
        smoothing: float = 1.0, random_state: Any = None, unexpected: str = "refuse", delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def fit_statistics(self, statistics: Statistics, *, ledger: Payer | None = None, account: Any = None) -> Self:
        """Fit to exact statistics, wherever their rows are."""
        plan, sampler = self._plan(self._public_schema()), self._sampler()
        check_counted(statistics, plan.schema)
        paying(ledger, account, statistics, self).charge(plan.node, plan.budget, plan.unit, self, schema=plan.schema)
        # How the rows were read is not known here.
        self._keep(self._chosen(statistics, plan, sampler, read=False))
        self._describe(np.zeros((1, len(statistics.schema.features))), statistics.schema)
        return self

    def _release(
        self, source: Source, plan: Paid, sampler: Sampler, counts: ClassCounts | None = None
    ) -> NaiveBayesModel:
        return self._chosen(source.statistics(BINS), plan, sampler, counts=counts)

    # ---- what it costs

    def _parts(self, counts: ClassCounts | None = None) -> Parts:
        """ε of the number of rows, of the choice and of the training; None without privacy."""
        budget, share = self._budget(), number(self.share, "share")
        if not 0 < share < 1:
            raise BudgetError(f"share must lie between 0 and 1, not {self.share!r}")
        if budget.epsilon is None:
            return None
        # Where rows are replaced their number is public, but not how many of them are left out.
        hidden = Adjacency.of(self.adjacency) is Adjacency.ADD_REMOVE or check_unexpected(self.unexpected) != REFUSE
        bought = self.k == "auto" and hidden and counts is None
        counted = budget.epsilon * COUNTED if bought else Fraction(0)
        rest = budget.epsilon - counted
        return counted, rest * share, rest * (1 - share)

    def plan(self) -> Sequential:
        """What a fit will cost, from public knowledge alone."""
        node = self._plan(self._public_schema()).node
        assert isinstance(node, Sequential)
        return node

    def _plan(self, schema: Schema, counts: ClassCounts | None = None) -> Paid:
        check_smoothing(self.smoothing)
        people = self._people()
        node = self._node(schema, counts)
        return Paid(
            schema, self._budget() if cost(node, "delta") else self._budget().pure, people["adjacency"],
            checked_contributions(people["contributions"]), node, unexpected=check_unexpected(people["unexpected"]),
        )  # fmt: skip

    def _node(self, schema: Schema, counts: ClassCounts | None) -> Sequential:
        """The ledger entry; every check is made here.

        With k="auto" the choice and the training are one entry, because a noisy number of rows shapes them later.
        """
        k = 1 if self.k == "auto" else self.k
        parts, tail = self._parts(counts), self._tail(schema, counts)
        chosen = self._selection_plan(schema, k, parts)
        everything = chosen.k == len(schema.features)
        trained = self._training_plan(reduced_schema(schema, schema.names[: chosen.k]), parts, everything)
        if parts is None:
            return Sequential("selection and training", ())
        counted = (self._count_charge(parts[0]),) if parts[0] else ()
        if self.k == "auto" or tail:
            known = f"by the {'noisy' if counted or counts else 'public'} number of rows"
            decided = (("number of features", f"from 1 to {len(schema.features)}, {known}"),)
            if self.k != "auto":
                decided = (("noise", "decided by the chosen features"),)
            rest, what = parts[1] + parts[2], "the chosen features and their tables"
            later = SmoothCharge(LATER, what, "epsilon", rest, 2 * tail, decided)
            return Sequential("selection and training", (*counted, later))
        choice = () if everything else (chosen.node,)
        return Sequential("selection and training", (*counted, *choice, trained.node))

    def _tail(self, schema: Schema, counts: ClassCounts | None) -> Fraction:
        """The δ of the choice and that of the tables: half each, or nothing where neither can be of use."""
        delta, size, parts = self._budget().delta, len(schema.features), self._parts(counts)
        if not delta or parts is None:
            return Fraction(0)
        most = size - 1 if self.k == "auto" else min(feature_count(self.k, schema), size - 1)
        drawn = most if self.selector in CONCENTRATED else 0
        useful = drawn and self._selection_plan(schema, drawn, parts, delta / 2).budget.delta
        return delta / 2 if useful or self._training_plan(schema, parts, True, delta / 2).budget.delta else Fraction(0)

    def _count_charge(self, spent: Fraction) -> Charge:
        moved = Fraction(checked_contributions(self.contributions))
        return Charge("discrete Laplace", "number of rows", "L1", str(moved), moved / spent, "epsilon", spent)

    def _selection_plan(
        self, schema: Schema, k: int, parts: Parts, tail: Fraction = Fraction(0)
    ) -> SelectionPlan:  # fmt: skip
        return make_selection_plan(
            schema,
            Budget(math.inf) if parts is None else Budget(parts[1], tail),
            feature_count(k, schema),
            score=self.criterion,
            selector=self.selector,
            **self._people(),
            max_rows=self.max_rows,
            threshold=self.threshold,
        )

    def _training_plan(
        self, schema: Schema, parts: Parts, everything: bool = False, tail: Fraction = Fraction(0)
    ) -> Plan:  # fmt: skip
        return make_plan(
            schema,
            Budget(math.inf) if parts is None else Budget(parts[2] + (parts[1] if everything else 0), tail),
            **self._people(),
            split=self.split,
            together=True,
        )

    # ---- fitting

    def _chosen(
        self, statistics: Statistics, whole: Paid, sampler: Sampler, *, read: bool = True,
        counts: ClassCounts | None = None,
    ) -> NaiveBayesModel:  # fmt: skip
        schema, parts = whole.schema, self._parts(counts)
        tail = cost(whole.node, "delta") / 2
        nodes: list[Node] = []
        k = self.k
        if k == "auto":
            rows = np.array([int(statistics.counts.sum() if counts is None else counts.rows)])
            if parts is not None and parts[0]:
                charge = self._count_charge(parts[0])
                nodes.append(charge)
                rows = sampler.laplace(rows, charge.spread)
            k = self._number(schema, int(rows[0]), parts)
        plan = self._selection_plan(schema, k, parts, tail)
        everything = plan.k == len(schema.features)  # then there is nothing to choose and nothing to pay for it
        if everything:
            self.selection_ = Selection(plan, tuple(range(plan.k)), sampler.name, sampler.simulation)
        else:
            self.selection_ = select(statistics, plan, sampler=sampler, odds=odds_for(self.random_state, 1))
            nodes.append(plan.node)
        kept = reduced_schema(self.selection_.plan.schema, self.selection_.names)
        study = sampler.simulation or parts is None
        kept = kept.having(inferred=kept.inferred or (study and not everything))
        trained = self._training_plan(kept, parts, everything, tail)
        released = release(reduced_statistics(statistics, kept), trained, sampler)
        nodes.append(released.node)
        self.release_ = released
        node = Sequential("selection and training", tuple(nodes))
        certificate = certify(
            whole,
            node=node,
            schema=kept,
            sampler=(*self.selection_.sampler.split(" and "), *released.samplers),
            simulation=released.simulation or self.selection_.simulation,
            accounting=_accounted(plan, trained, everything),
            rho=concentrated(node) if cost(node, "rho") else None,
            assumptions=(WHICHEVER,) if tail else (),
            read=read,
            named=True,
            elsewhere=() if counts is None else counts.elsewhere(),
        )
        self.selection_ = replace(self.selection_, read=read)
        if certificate.private and not everything:
            kept = kept.having(provenance=(*kept.provenance, certificate.provenance(WHAT)))
        prior, likelihoods = estimate(released, check_smoothing(self.smoothing))
        return NaiveBayesModel(kept, prior, likelihoods, certificate)

    def _number(self, schema: Schema, rows: int, parts: Parts) -> int:
        """k from what is public by now: as many features as the noise on scores leaves apart."""
        if parts is None:
            return len(schema.features)
        score = self._selection_plan(schema, 1, parts).score
        size = len(schema.features)
        k = features_worth(rows, parts[1], Fraction(score.reach, score.unit), size)
        return min(k, max(MOST_EVENTS // size, 1)) if self.selector == "joint" and k < size else k

    # ---- prediction

    def _narrowed(self, X: Any) -> Any:
        return X if is_outside(X) else narrowed(X, self.selection_.names, self.selection_.plan.schema.names)

    def to_sklearn(self) -> Any:
        """The released model as a scikit-learn pipeline that takes the columns of the fit."""
        pipeline = super().to_sklearn()
        if not hasattr(self, "feature_names_in_"):  # columns by place: the chosen ones first
            from sklearn.compose import ColumnTransformer

            taken = ColumnTransformer([("choose", "passthrough", sorted(self.selection_.chosen))])
            lowest = [
                feature.lower if isinstance(feature, Numeric) else feature.categories[0]
                for feature in self.selection_.plan.schema.features
            ]
            example = np.array([lowest], dtype=object)
            pipeline.steps.insert(0, ("choose", taken.fit(example)))
        return pipeline


def _accounted(choice: SelectionPlan, trained: Plan, everything: bool) -> str:
    """How the costs of both steps add up."""
    if everything or not (choice.budget.delta or trained.budget.delta):
        return trained.accounting
    return f"epsilon and delta, added up, of the choice ({choice.accounting}) and of the tables ({trained.accounting})"


def features_worth(rows: int, epsilon: Fraction, reach: Fraction | int, features: int) -> int:
    """How many features to choose: the noise that k of them put on a score should not exceed a share of the rows.

    The reach is in rows (or bits), not in the units of a score.
    """
    noise = float(reach) * math.log(max(features, 2)) / float(epsilon)
    return int(min(max(WORTH * max(rows, 0) / noise, 1.0), features))


WORTH = 0.1  # measured on the reference data; see docs/selection.md
