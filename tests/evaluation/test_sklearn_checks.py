"""Scikit-learn's own checks of a meta-estimator."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import PrivateHoldout, PrivateNB


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([PrivateHoldout(PrivateNB(math.inf, schema="infer"), random_state=0)])
def test_estimator_checks(estimator, check):
    check(estimator)
