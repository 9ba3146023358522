"""Naive Bayes on chosen features as a kind of model."""

from discreet.kinds import Facts, Kind, Promise

WIDE = 32  # features, below which those that say nothing cost the others little
SCARCE = 6.0  # rows times ε for each weight of all features, below which a choice is worth half of the budget
LOPSIDED = 0.7  # the share of a class from which on few features alone can beat it, so that hits tell them not apart


def promise(facts: Facts) -> Promise:
    """Where many features share too little, a few that are chosen first say more than all of them."""
    each = facts.rows * facts.epsilon / max(facts.weights, 1)
    worth = facts.features >= WIDE and each < SCARCE and facts.largest < LOPSIDED
    why = (
        f"about {facts.rows:.0f} rows leave {each:.3g} rows times epsilon for each of {facts.weights} weights of "
        f"{facts.features} features; that is too little for all of them, and enough for a few"
    )
    return Promise(1.5 if worth else None, why, {"each": each} if worth else {})


KINDS = (
    Kind(
        name="selective",
        words="Naive Bayes on chosen features",
        estimator="discreet.selection:SelectiveNB",
        format="discreet/naive-bayes",
        model="discreet.bayes.model:NaiveBayesModel",
        promise=promise,
        automatic="discreet.auto.families:fit_selective",
    ),
)
