"""The scikit-learn estimator checks for LocalNB: all of them, with no expected failure."""

import math

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from discreet import LocalNB


@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks(
    [
        LocalNB(schema="infer", epsilon=25.0, random_state=0),
    ],
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.slow  # the same checks of the same class once more
@pytest.mark.usefixtures("one_engine")
@parametrize_with_checks([LocalNB(schema="infer", epsilon=math.inf)])
def test_estimator_checks_without_noise(estimator, check):
    check(estimator)
