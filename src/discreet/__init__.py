"""Train and release classifiers on sensitive tables with differential privacy."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    AccountError,
    BudgetError,
    DataError,
    DiscreetError,
    ModelError,
    QueryError,
    RepeatedFitWarning,
    SchemaError,
    SettingError,
    SolverError,
    StatisticsError,
    UpdateError,
)

if TYPE_CHECKING:
    from discreet.additive import AdditiveModel, PrivateAdditiveClassifier
    from discreet.answers import PrivatePredictor
    from discreet.auto import PrivateClassifier
    from discreet.bayes import NaiveBayesModel, PrivateNB, SmoothSettings
    from discreet.bounds import Settlement, private_bounds
    from discreet.bounds import settle_schema as settle_schema
    from discreet.dependence import JointModel, PrivateJointHistogram, PrivateTAN, TANModel
    from discreet.evaluation import PrivateEvaluation, PrivateHoldout, evaluate_privately
    from discreet.federated import FederatedNB
    from discreet.gossip import GossipNB
    from discreet.linear import LinearModel, PrivateLogisticRegression, PrivateSVC
    from discreet.local import LocalNB
    from discreet.models import ReleasedModel, load
    from discreet.privacy import Account, Adjacency, Budget, Certificate, Ledger
    from discreet.schema import Categorical, Date, Numeric, Schema
    from discreet.selection import PrivateSelectKBest, SelectiveNB
    from discreet.sources import Address, CountedRows, Table, collect
    from discreet.statistics import Statistics
    from discreet.trees import PrivateForestClassifier, PrivateTreeClassifier, TreeModel
    from discreet.tuning import PrivateGridSearch

# Each public name and the room it lives in: a room is opened when it is first used, so that importing
# the package costs next to nothing.
_ROOMS = {
    "discreet.additive": ("AdditiveModel", "PrivateAdditiveClassifier"),
    "discreet.auto": ("PrivateClassifier",),
    "discreet.bayes": ("NaiveBayesModel", "PrivateNB", "SmoothSettings"),
    "discreet.evaluation": ("PrivateEvaluation", "PrivateHoldout", "evaluate_privately"),
    "discreet.federated": ("FederatedNB",),
    "discreet.gossip": ("GossipNB",),
    "discreet.linear": ("LinearModel", "PrivateLogisticRegression", "PrivateSVC"),
    "discreet.local": ("LocalNB",),
    "discreet.models": ("ReleasedModel", "load"),
    "discreet.dependence": ("JointModel", "PrivateJointHistogram", "PrivateTAN", "TANModel"),
    "discreet.answers": ("PrivatePredictor",),
    "discreet.privacy": ("Account", "Adjacency", "Budget", "Certificate", "Ledger"),
    "discreet.schema": ("Categorical", "Date", "Numeric", "Schema"),
    "discreet.selection": ("PrivateSelectKBest", "SelectiveNB"),
    "discreet.bounds": ("Settlement", "private_bounds", "settle_schema"),
    "discreet.sources": ("Address", "CountedRows", "Table", "collect"),
    "discreet.statistics": ("Statistics",),
    "discreet.trees": ("PrivateForestClassifier", "PrivateTreeClassifier", "TreeModel"),
    "discreet.tuning": ("PrivateGridSearch",),
}
_HOME = {name: room for room, names in _ROOMS.items() for name in names}
__all__ = [
    "Account",
    "AccountError",
    "AdditiveModel",
    "Address",
    "Adjacency",
    "Budget",
    "BudgetError",
    "Categorical",
    "Certificate",
    "CountedRows",
    "DataError",
    "Date",
    "DiscreetError",
    "FederatedNB",
    "GossipNB",
    "JointModel",
    "Ledger",
    "LinearModel",
    "LocalNB",
    "ModelError",
    "NaiveBayesModel",
    "Numeric",
    "PrivateAdditiveClassifier",
    "PrivateClassifier",
    "PrivateEvaluation",
    "PrivateForestClassifier",
    "PrivateGridSearch",
    "PrivateHoldout",
    "PrivateJointHistogram",
    "PrivateLogisticRegression",
    "PrivateNB",
    "PrivatePredictor",
    "PrivateSVC",
    "PrivateSelectKBest",
    "PrivateTAN",
    "PrivateTreeClassifier",
    "QueryError",
    "ReleasedModel",
    "RepeatedFitWarning",
    "Schema",
    "SchemaError",
    "SelectiveNB",
    "SettingError",
    "Settlement",
    "SmoothSettings",
    "SolverError",
    "Statistics",
    "StatisticsError",
    "TANModel",
    "Table",
    "TreeModel",
    "UpdateError",
    "collect",
    "evaluate_privately",
    "load",
    "private_bounds",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("discreet")
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
