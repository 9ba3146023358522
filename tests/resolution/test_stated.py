"""What later certificates say of edges that were looked for: bought, told apart from other purchases, or a study's."""

import math

import numpy as np
import pandas as pd
import pytest

from discreet import Budget, Categorical, Ledger, Numeric, PrivateClassifier, PrivateGridSearch, PrivateNB, Schema
from discreet.privacy.certifier import EXCEPT

NUMBERS = Schema([Numeric(f"x{j}", 0, 100) for j in range(8)], "y", [0, 1])
RNG = np.random.default_rng(2)
SKEWED = pd.DataFrame(RNG.exponential(2.0, (400, 8)).round(3), columns=NUMBERS.names)
LABELS = RNG.integers(0, 2, 400)


@pytest.mark.parametrize(("epsilon", "seed"), [(math.inf, None), (50.0, 1)])
def test_edges_of_a_study_are_said_to_be_read_off_the_data(epsilon, seed):
    study = PrivateClassifier(epsilon, NUMBERS, "naive-bayes", random_state=seed).fit(SKEWED, LABELS)
    assert study.model_.schema.inferred and study.model_.schema.features != NUMBERS.features
    later = PrivateNB(1.0, schema=study.model_.schema).fit(SKEWED, LABELS).certificate_
    assert EXCEPT in later.covers


def test_two_looks_at_the_same_rows_are_told_apart():
    schema = NUMBERS.having(NUMBERS.features[:2])
    rows = SKEWED.iloc[RNG.integers(0, 400, 4000), :2].reset_index(drop=True)
    y = RNG.integers(0, 2, 4000)
    one, two = (PrivateClassifier(2.0, schema, "additive").fit(rows, y) for _ in range(2))
    hashes = {bought.certificate for fitted in (one, two) for bought in fitted.model_.schema.provenance}
    assert len(hashes) == 2
    later = PrivateNB(1.0, schema=one.model_.schema).fit(rows, y).certificate_
    assert later.elsewhere and two.certificate_.then(later).elsewhere and not one.certificate_.then(later).elsewhere


def test_whole_numbers_on_a_coarse_lattice_are_looked_at():
    schema = Schema([Numeric("x", 0, 100, integer=True, step=5)], "y", [0, 1])
    x, y = RNG.integers(0, 101, (4000, 1)), RNG.integers(0, 2, 4000)
    assert PrivateClassifier(2.0, schema, "additive").fit(x, y).certificate_.epsilon == "2"


@pytest.mark.parametrize("kind", ["selective", "auto"])
def test_searches_take_kinds_that_choose_features_or_cut_numbers(kind):
    schema = Schema([Categorical(f"c{j}", [0, 1]) for j in range(26)], "y", [0, 1])
    X = RNG.integers(0, 2, (300, 26))
    ledger = Ledger(Budget(1))
    search = PrivateGridSearch([kind], epsilon=1.0, schema=schema).fit(X, X[:, 0], ledger=ledger)
    assert ledger.spent == 1 and len(search.predict(X)) == 300
