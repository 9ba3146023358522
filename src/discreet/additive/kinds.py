"""Additive models, of single features or with pairs of them, as kinds of models."""

from functools import partial

from discreet.kinds import SHAPES_LEAN, Facts, Kind, Promise

PAIRED = 400.0  # rows times ε for each free weight where pairs of features are worth their many cells


def single(facts: Facts) -> Promise:
    """Weights fitted together beat counts that take features for independent, where each has support."""
    if facts.shapes:
        clear = (
            f"a mean cell is {facts.clear:.3g} times its Gaussian noise, and {SHAPES_LEAN:g} suffice for one weight "
        )
        return Promise(2, clear + "for the shape of each feature")
    return Promise(2, facts.supported(facts.needed)) if facts.support >= facts.needed else Promise(None)


def paired(facts: Facts) -> Promise:
    """With several classes and much support there is budget to look for pairs of features."""
    worth = facts.classes > 2 and facts.support >= PAIRED
    return Promise(4, facts.supported(PAIRED)) if worth else Promise(None)


_additive = partial(
    Kind,
    estimator="discreet.additive:PrivateAdditiveClassifier",
    format="discreet/additive",
    model="discreet.additive.model:AdditiveModel",
    as_declared={"numeric": "binned"},
    counted=True,
    automatic="discreet.auto.families:fit_additive",
)
KINDS = (
    _additive("additive", "additive logistic regression", settings={"pairs": 0}, promise=single),
    _additive("additive-pairs", "additive logistic regression with pairs", settings={"pairs": "auto"}, promise=paired),
)
