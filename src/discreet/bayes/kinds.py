"""Naive Bayes as a kind of model."""

from discreet.kinds import Facts, Kind, Promise


def promise(facts: Facts) -> Promise:
    """Counting needs the least of a budget: it always promises something."""
    return Promise(1, facts.unsupported(facts.needed))


KINDS = (
    Kind(
        name="naive-bayes",
        aliases=("nb",),
        words="Naive Bayes",
        estimator="discreet.bayes:PrivateNB",
        format="discreet/naive-bayes",
        model="discreet.bayes.model:NaiveBayesModel",
        promise=promise,
        automatic="discreet.auto.families:fit_naive_bayes",
        usual=True,
    ),
)
