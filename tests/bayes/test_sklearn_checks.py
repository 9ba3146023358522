"""The scikit-learn estimator checks: all of them, with no expected failure."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import PrivateNB


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([PrivateNB(schema="infer", epsilon=20.0, random_state=0)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same checks of the same class once more
@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [PrivateNB(schema="infer", epsilon=math.inf), PrivateNB(schema="infer", epsilon=math.inf, numeric="gaussian")]
)
def test_estimator_checks_without_noise(estimator, check):
    check(estimator)
