"""Scikit-learn's own checks of both estimators of selection; none is expected to fail."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import PrivateSelectKBest, SelectiveNB


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [
        SelectiveNB(schema="infer", epsilon=200.0, random_state=0),
        PrivateSelectKBest(k=1, schema="infer", epsilon=math.inf),
    ],
)
def test_estimator_checks(estimator, check):
    check(estimator)
