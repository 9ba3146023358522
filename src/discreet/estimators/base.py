"""What estimators share: a schema, scikit-learn's attributes, and prediction by a released model."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from discreet import sources
from discreet.errors import DataError, SchemaError, SettingError
from discreet.estimators.counts import ClassCounts, checked_counts
from discreet.estimators.documented import filled
from discreet.estimators.purchase import Purchase, purchase
from discreet.mechanisms.noise import Sampler, bytes_of, sampler_for
from discreet.models import normalised
from discreet.privacy.budget import Adjacency, Budget
from discreet.privacy.nodes import Node
from discreet.privacy.payer import Carrier, Payer, attempt, paying
from discreet.privacy.unexpected import ABSORB, REFUSE
from discreet.schema import Schema
from discreet.sources import (
    Progress,
    Source,
    as_matrix,
    charge,
    check_shape,
    has_names,
    is_outside,
    open_frame,
    read_rows,
    trusting,
)

Floats = NDArray[np.float64]


class PrivateEstimator(Carrier, BaseEstimator):
    """Settings, their words, and the one door of a fit: for whatever is fitted to rows that must be paid for."""

    model_: Any
    certificate_: Any
    _spends_delta = False  # whether a release may cost a δ: what has no Gaussian mechanism leaves it whole
    _texts = ""  # of parameters that several classes of a room share

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__doc__ is not None:  # there is none under -OO
            cls.__doc__ = filled(cls.__doc__, cls._texts)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Settings: those of the constructor."""

    @property
    def schema(self) -> Any:
        """The schema, read from its file or its plain values when it is first asked for; else what was given."""
        if "schema" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute 'schema'")
        given = self.__dict__["schema"]
        if isinstance(given, Mapping | os.PathLike) or (isinstance(given, str) and given != "infer"):
            with suppress(SchemaError):  # a constructor refuses nothing: whoever needs the schema does
                given = self.__dict__["schema"] = Schema.of(given)
        return given

    @schema.setter
    def schema(self, given: Any) -> None:
        self.__dict__["schema"] = given

    def _html_repr(self) -> str:
        """The form that notebooks show: settings that were changed, and the released model once there is one."""
        from discreet.html import page

        usual = inspect.signature(type(self)).parameters
        given = self.get_params(deep=False).items()
        changed = [(name, value) for name, value in given if value is not usual[name].default]
        facts = [(name, _told(value)) for name, value in changed]
        fitted = getattr(self, "model_", None)
        return page(type(self).__name__, facts) + (
            fitted._repr_html_() if fitted is not None and hasattr(fitted, "_repr_html_") else ""
        )

    def _configure(self, settings: dict[str, Any]) -> None:
        """Keep what a constructor was called with, each setting under its name; `settings` are its `locals()`."""
        self.__dict__.update({name: value for name, value in settings.items() if name not in {"self", "__class__"}})

    def fit(
        self, X: Any, y: Any = None, *, ledger: Payer | None = None, account: Any = None,
        progress: Progress | None = None, **unknown: Any,
    ) -> Self:  # fmt: skip
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        The whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        """
        self._refuse(unknown)
        with attempt():
            return self._fit(X, y, paying(ledger, account, X, self), progress)

    def _fit(self, X: Any, y: Any, payer: Payer, progress: Progress | None, *bought: Any) -> Self:
        raise NotImplementedError

    def _refuse(self, unknown: dict[str, Any]) -> None:
        """Refuse what no fit takes; `sample_weight` of None is what libraries pass that have none."""
        if unknown.pop("sample_weight", None) is not None:
            raise SettingError(
                "sample_weight is not supported: the noise is sized for rows that count once each, and a row of more "
                "weight would be less protected; leave it out"
            )
        for name in unknown:
            raise SettingError(f"{type(self).__name__}.fit() got an unexpected keyword argument {name!r}")

    def _budget(self) -> Budget:
        asked = Budget(self.epsilon, getattr(self, "delta", 0))
        return asked if self._spends_delta else asked.pure

    def _people(self) -> dict[str, Any]:
        """Whom the release protects, as settings of a plan."""
        return {
            "adjacency": Adjacency.of(self.adjacency),
            "contributions": self.contributions,
            "unexpected": self.unexpected,
        }

    def _public_schema(self) -> Schema:
        if isinstance(self.schema, Schema) and not self.schema.unsettled:
            return self.schema
        if isinstance(self.schema, Schema):
            raise SchemaError(
                f"the bounds of {self.schema.unsettled[0]!r} are private and {type(self).__name__} does not find them: "
                "find them first by private_bounds(schema, data, epsilon) or 'discreet bounds'"
            )
        if self.schema is not None and self.schema != "infer":
            Schema.of(self.schema)  # says what is wrong with it
        raise SchemaError(
            f"{type(self).__name__} needs a schema, because bounds, categories and classes read off the data would "
            "leak: pass schema=Schema(...) or the path of its file; 'discreet schema DATA --target COLUMN' drafts one"
        )

    def _schema_for(self, X: Any, y: Any, classes: Any = None) -> Schema:
        known = self.schema if isinstance(self.schema, Schema) else None
        check_shape(X, y, known, who=type(self).__name__)
        if isinstance(self.schema, str) and self.schema == "infer":
            if getattr(self, "unexpected", REFUSE) == ABSORB:
                raise SchemaError(
                    "a schema cannot be read off rows of which any content is to be absorbed: declare one, or draft it "
                    "by Schema.infer and edit it"
                )
            return Schema.infer(X, y, classes=() if classes is None else classes)
        return self._public_schema()

    def _name_columns(self, schema: Schema, named: bool) -> None:
        """What scikit-learn asks about the columns of a fit; names are of this fit or of none."""
        self.n_features_in_ = len(schema.features)
        self.__dict__.pop("feature_names_in_", None)
        if named:
            self.feature_names_in_ = np.array(schema.names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = not isinstance(self.schema, Schema) or any(
            feature.missing != "error" for feature in self.schema.features
        )
        tags.non_deterministic = self.random_state is None and self.epsilon != math.inf
        return tags


def _told(value: Any) -> str:
    """A setting in a few letters."""
    whole = f"a schema of {len(value.features)} features" if isinstance(value, Schema) else repr(value)
    return whole if len(whole) <= 80 else whole[:79] + "…"


class SchemaEstimator(ClassifierMixin, PrivateEstimator):
    """The road that every classifier walks: check, plan, charge, read, release, certify, model.

    A kind of estimator says what it plans for a schema (`_plan`) and what it makes of the rows (`_release`).
    """

    def _plan(self, schema: Schema, *bought: Any) -> Any:
        """How the budget is spent, from public knowledge and what was bought before; settings are checked here."""
        raise NotImplementedError

    def _release(self, source: Source, plan: Any, sampler: Sampler, *bought: Any) -> Any:
        """The released model, with its certificate, of rows that have been paid for."""
        raise NotImplementedError

    # ---- fitting

    def plan(self) -> Any:
        """How the budget would be spent, from public knowledge alone; what bounds and bins cost is `settlement`."""
        bought = self._purchase()
        settled = self if bought is None else bought.rest
        return settled._plan(settled._public_schema())

    def settlement(self) -> Any:
        """How bounds and bins would be bought, if any are."""
        bought = self._purchase()
        return None if bought is None else bought.plan

    def _fit(self, X: Any, y: Any, payer: Payer, progress: Progress | None, *bought: Any) -> Self:
        if self._fit_settled(X, y, payer, progress):
            return self
        if isinstance(self.schema, str):  # the rows will be read for a schema: not in vain
            payer.allow_inference(self._budget(), self._known_cost(*bought))
        schema = self._schema_for(X, y)
        plan = trusting(self._plan(schema, *bought), X)
        self._check_bought(plan, *bought)
        sampler = self._sampler()  # a bad seed is no reason to pay
        self._tab = charge(payer, plan, X, self, schema=schema)
        self._keep(self._release(self._source(X, y, plan, sampler, progress), plan, sampler, *bought))
        self._describe(X, schema)
        return self

    def _keep(self, released: Any) -> None:
        self.model_, self.certificate_ = released, released.certificate

    def _check_bought(self, plan: Any, *bought: Any) -> None:
        """Refuse what a caller has bought and this fit must not follow from."""

    def _unbinned(self) -> bool:
        """Whether numbers are modelled without bins, so that none need be bought."""
        return False

    def _known_cost(self, *bought: Any) -> Node | None:
        """The ledger entry, if it does not depend on the schema."""
        return None

    def _sampler(self) -> Sampler:
        return sampler_for(self.random_state)

    @staticmethod
    def _source(X: Any, y: Any, plan: Any, sampler: Sampler, progress: Progress | None) -> Source:
        """The rows, on the terms of a plan that was charged."""
        return sources.open(
            X, plan.schema, y, contributions=plan.contributions, unexpected=plan.unexpected, draw=bytes_of(sampler),
            progress=progress,
        )  # fmt: skip

    def _purchase(self) -> Purchase | None:
        """The bounds and edges to be bought before a fit, for an estimator with the settings that say so."""
        if not hasattr(self, "bounds_share"):
            return None
        return purchase(self, getattr(self, "bounds", "declared"), getattr(self, "edges", None), self.bounds_share)

    def _fit_settled(self, X: Any, y: Any, payer: Payer, progress: Progress | None) -> bool:
        """Buy bounds and edges with a part of the budget and fit with the rest; False if all of them are declared."""
        bought = self._purchase()
        if bought is None:
            return False
        check_shape(X, y, bought.plan.schema, who=type(self).__name__)
        fitted = bought.fit(X, y, payer=payer, progress=progress)
        settings = self.get_params(deep=False)
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        self.__dict__.update({key: value for key, value in vars(fitted).items() if key not in settings})
        return True

    def _describe(self, X: Any, schema: Schema) -> None:
        """Set the attributes that scikit-learn expects of a fitted classifier."""
        labels = schema.class_array()
        try:
            self._order = np.argsort(labels)
        except TypeError:  # labels of several types have no order but the schema's
            self._order = np.arange(len(labels))
        self.classes_, self.n_classes_ = labels[self._order], len(labels)
        self._name_columns(schema, has_names(X))

    # ---- prediction

    def _check_width(self, X: Any) -> None:
        """Scikit-learn's message where a matrix has another number of columns than in fit."""
        if is_outside(X) or open_frame(X) is not None:
            return
        width = as_matrix(X).shape[1]
        if width != self.n_features_in_:
            name, expected = type(self).__name__, self.n_features_in_
            raise DataError(f"X has {width} features, but {name} is expecting {expected} features as input")

    def _narrowed(self, X: Any) -> Any:
        """What the model asks for of rows as they were in fit."""
        return X

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        check_is_fitted(self)
        self._check_width(X)
        labels: NDArray[Any] = self.model_.predict(self._narrowed(X))
        return labels

    def predict_set(self, X: Any, coverage: Any = 0.9) -> NDArray[np.bool_]:
        """For each row which of `classes_` are in its set; it holds the true one with at least the chance `coverage`.

        It rests on rows held out: fit with PrivateHoldout.
        """
        check_is_fitted(self)
        self._check_width(X)
        found: NDArray[np.bool_] = self.model_.predict_set(self._narrowed(X), coverage)[:, self._order]
        return found

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of rows that are answered rightly; a file, table or frame with the target needs no `y`.

        It is exact, so it discloses the rows that it is of: evaluate_privately measures private ones.
        """
        if y is not None:
            return float(super().score(X, y, sample_weight))
        check_is_fitted(self)
        check_shape(X, None, self.model_.schema, who=f"{type(self).__name__}.score")
        right = whole = 0
        for rows in read_rows(X, self.model_.schema):
            assert rows.label is not None
            truth = rows.label.encode()
            if (truth == len(self.model_.schema.classes)).any():
                rows.label.complain()
            right += int(np.count_nonzero(self.model_.best_rows(rows) == truth))
            whole += rows.size
        if not whole:
            raise DataError("there are no rows to score")
        return right / whole


class ScoreEstimator(SchemaEstimator):
    """An estimator whose model scores classes by log-probabilities up to a constant."""

    def predict_joint_log_proba(self, X: Any) -> Floats:
        """log P(class, features), columns in the order of `classes_`."""
        check_is_fitted(self)
        self._check_width(X)
        scores: Floats = self.model_.predict_joint_log_proba(self._narrowed(X))[:, self._order]
        return scores

    def predict_log_proba(self, X: Any) -> Floats:
        """log P(class | features), columns in the order of `classes_`."""
        return normalised(self.predict_joint_log_proba(X))

    def predict_proba(self, X: Any) -> Floats:
        """P(class | features), columns in the order of `classes_`."""
        return np.exp(self.predict_log_proba(X))


class CountedEstimator(ScoreEstimator):
    """An estimator whose `_plan` and `_release` take class counts that were bought, or None to buy them."""

    def fit(
        self, X: Any, y: Any = None, *, ledger: Payer | None = None, account: Any = None,
        progress: Progress | None = None, counts: ClassCounts | None = None, **unknown: Any,
    ) -> Self:  # fmt: skip
        """Fit to an array or data frame with labels `y`, or to a file or database table that has the target.

        The whole cost is known and charged to the `account` (or `ledger`), if there is one, before a row is read.
        `counts` are noisy rows by class that the caller has bought; the certificate says that they were paid for
        elsewhere. Without them a small part of the budget buys what is needed of them.
        """
        self._refuse(unknown)
        with attempt():
            return self._fit(X, y, paying(ledger, account, X, self), progress, counts)

    def _check_bought(self, plan: Any, counts: ClassCounts | None = None) -> None:
        checked_counts(counts, plan, simulation=self.random_state is not None)
