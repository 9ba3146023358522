"""Scikit-learn's own checks of a meta-estimator."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import PrivateNB
from discreet.tuning import PrivateGridSearch


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [PrivateGridSearch(PrivateNB(), {"smoothing": [0.5, 1.0]}, schema="infer", epsilon=math.inf, random_state=0)],
)
def test_estimator_checks(estimator, check):
    check(estimator)
