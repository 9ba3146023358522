"""Naive Bayes on chosen features as a kind of model."""

from discreet.kinds import Facts, Kind, Promise

WIDE = 8  # features, below which those that say nothing cost the others little
SCARCE = 16.0  # rows times ε for each feature, below which a choice may be worth half of the budget
LOST = 0.5  # and below which it always is
LOPSIDED = 0.55  # the share of a class from which on few features alone can beat it, so that hits tell them not apart


def promise(facts: Facts) -> Promise:
    """Where many features share too little, a few that are chosen first say more than all of them."""
    each = facts.rows * facts.epsilon / facts.features
    worth = facts.features >= WIDE and (each < LOST or (each < SCARCE and facts.largest < LOPSIDED))
    why = (
        f"about {facts.rows:.0f} rows leave each of {facts.features} features {each:.3g} rows times epsilon; that is "
        "too little for all of them, and enough for a few"
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
