"""Scikit-learn's own checks of an estimator; none is expected to fail."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet.dependence import PrivateJointHistogram, PrivateTAN


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [
        PrivateJointHistogram(schema="infer", epsilon=50.0, random_state=0),
        PrivateTAN(schema="infer", epsilon=50.0, random_state=0),
    ],
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same checks of the same class once more
@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [PrivateJointHistogram(schema="infer", epsilon=math.inf), PrivateTAN(schema="infer", epsilon=math.inf)]
)
def test_estimator_checks_without_noise(estimator, check):
    check(estimator)
