"""PrivateSelectKBest: the k best features with differential privacy, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from discreet.domain import text
from discreet.errors import DataError
from discreet.estimators.base import PrivateEstimator
from discreet.mechanisms.noise import bytes_of, sampler_for
from discreet.mechanisms.odds import odds_for
from discreet.privacy.payer import Payer, paying
from discreet.privacy.unexpected import REFUSE
from discreet.schema import Schema
from discreet.selection.plan import SelectionPlan, make_selection_plan
from discreet.selection.select import Selection, check_counted, select
from discreet.sources import (
    BINS,
    Draw,
    Progress,
    as_matrix,
    charge,
    collect,
    has_names,
    is_lazy,
    is_outside,
    open_frame,
    picked,
    trusting,
)
from discreet.statistics import Statistics

SCORE = """
    criterion : {"hits", "balanced", "count", "mutual-information"}
        What makes a feature good: the widest spread over classes of the rows with one value, the rows that the
        feature alone would classify rightly (so, or with classes weighted as noisy counts suggest), or the rows times
        the mutual information with the class.
    selector : {"permute-and-flip", "gumbel", "mask", "joint", "sparse-vector", "noisy-scores", "noisy-tables"}
        The mechanism that chooses.
    max_rows : int, optional
        A public bound on the number of rows, which mutual information needs; more rows weigh no more than that many.
    threshold : int, optional
        The score that a feature must reach, for the sparse vector technique."""


class PrivateSelectKBest(TransformerMixin, PrivateEstimator):
    """The k features that tell most about the class, chosen with differential privacy.

    Parameters
    ----------
    k : int, default 10
        How many features to keep.
    epsilon : float, default 1.0
        The privacy budget of the choice; `math.inf` chooses without privacy.
    schema : Schema
        What is public about the data; numbers are scored by their bins.
    {criterion, selector, max_rows, threshold, adjacency, contributions, random_state, unexpected, delta}

    Attributes
    ----------
    schema_ : Schema
        The schema of the chosen features.
    names_ : tuple of str
    certificate_ : Certificate
    selection_ : Selection
    """

    _texts = SCORE
    _spends_delta = True

    def __init__(
        self, k: int = 10, epsilon: float = 1.0, schema: Schema | str | None = None, criterion: str = "hits",
        selector: str = "permute-and-flip", adjacency: str = "add-remove", contributions: int = 1,
        max_rows: int | None = None, threshold: int | None = None, random_state: Any = None, unexpected: str = "refuse",
        delta: float = 0.0,
    ) -> None:  # fmt: skip
        self._configure(locals())

    def plan(self) -> SelectionPlan:
        """How the budget would be spent, from public knowledge alone."""
        return self._plan(self._public_schema())

    def _plan(self, schema: Schema) -> SelectionPlan:
        return make_selection_plan(
            schema, self._budget(), self.k, **self._people(), score=self.criterion, selector=self.selector,
            max_rows=self.max_rows, threshold=self.threshold,
        )  # fmt: skip

    def _fit(self, X: Any, y: Any, payer: Payer, progress: Progress | None, *_: Any) -> Self:
        if isinstance(self.schema, str):  # the rows will be read for a schema: not in vain
            payer.allow_inference(self._budget())
        plan = trusting(self._plan(self._schema_for(X, y)), X)
        charge(payer, plan, X, self, schema=plan.schema)
        statistics = collect(
            X, plan.schema, y, detail=BINS, contributions=plan.contributions, unexpected=plan.unexpected,
            draw=choice_bytes(plan.unexpected, self.random_state, 3), progress=progress,
        )  # fmt: skip
        return self._remember(select_with(statistics, plan, self.random_state), has_names(X))

    def fit_statistics(self, statistics: Statistics, *, ledger: Payer | None = None, account: Any = None) -> Self:
        """Choose from exact statistics, wherever their rows are: of a node, or summed over several."""
        plan = self.plan()
        check_counted(statistics, plan.schema)
        paying(ledger, account, statistics, self).charge(plan.node, plan.budget, plan.unit, self, schema=plan.schema)
        # How the rows were read is not known here.
        return self._remember(replace(select_with(statistics, plan, self.random_state), read=False), True)

    def _remember(self, selection: Selection, named: bool) -> Self:
        self.selection_, self.certificate_ = selection, selection.certificate
        self.schema_, self.names_ = selection.schema, selection.names
        self._name_columns(selection.plan.schema, named)
        return self

    def get_support(self, indices: bool = False) -> NDArray[Any]:
        """The chosen columns, as a mask or as indices."""
        check_is_fitted(self)
        spots = np.sort(np.array(self.selection_.chosen))
        return spots if indices else np.isin(np.arange(self.n_features_in_), spots)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of the chosen features."""
        check_is_fitted(self)
        return np.array(self.names_, dtype=object)

    def transform(self, X: Any) -> Any:
        """The chosen columns of an array or data frame; costs nothing."""
        check_is_fitted(self)
        return narrowed(X, self.selection_.names, self.selection_.plan.schema.names, type(self).__name__)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def choice_bytes(unexpected: str, random_state: Any, stream: int) -> Draw | None:
    """Random bytes for the choice among one person's rows, if there may be one; None asks the operating system."""
    return None if unexpected == REFUSE else bytes_of(sampler_for(random_state, stream))


def select_with(statistics: Statistics, plan: SelectionPlan, random_state: Any) -> Selection:
    """A selection with the operating system's randomness, or a seed's."""
    return select(statistics, plan, sampler=sampler_for(random_state, 1), odds=odds_for(random_state, 2))


def narrowed(X: Any, names: Sequence[str], among: Sequence[str], who: str = "this choice") -> Any:
    """The columns of these names, which were chosen among those: of rows in memory, or of a lazy frame."""
    if is_lazy(X):
        return picked(X, list(names))
    if is_outside(X):
        raise DataError("transform takes rows in memory; for a file, fit a model with the reduced schema instead")
    frame = open_frame(X)
    if frame is not None:
        columns = {text(name): name for name in frame.columns}
        absent = [name for name in names if name not in columns]
        if absent:
            raise DataError(f"the data frame has no column {absent[0]!r}")
        places = [j for j, name in enumerate(frame.columns) for one in names if text(name) == one]
        # By place: the columns of a frame may be numbers, which select rows.
        return frame[:, sorted(places, key=lambda j: names.index(text(frame.columns[j])))].to_native()
    matrix = as_matrix(X)
    if matrix.shape[1] != len(among):
        raise DataError(f"X has {matrix.shape[1]} features, but {who} is expecting {len(among)} features as input")
    return matrix[:, [j for j, name in enumerate(among) if name in set(names)]]
