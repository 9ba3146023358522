"""Driver of diffprivlib: what its learners release about a small table."""

import sys

sys.path.append(sys.path.pop(0))  # this file is called as the library is

import numpy as np
from diffprivlib.models import GaussianNB, LogisticRegression, RandomForestClassifier, StandardScaler
from serve import serve


def gaussian_nb(epsilon, bounds=None):
    """Class counts, means and variances."""

    def release(data):
        model = GaussianNB(epsilon=epsilon, bounds=None if bounds is None else tuple(bounds))
        model.fit(np.array(data["X"]), np.array(data["y"]))
        return [*model.class_count_, *model.theta_.ravel(), *model.var_.ravel()]

    return release


def logistic_regression(epsilon, data_norm):
    """Coefficients and intercept."""

    def release(data):
        model = LogisticRegression(epsilon=epsilon, data_norm=data_norm).fit(np.array(data["X"]), np.array(data["y"]))
        return [*model.coef_.ravel(), *model.intercept_]

    return release


def forest(epsilon, trees, depth, points):
    """What each tree answers at some points."""

    def release(data):
        model = RandomForestClassifier(
            n_estimators=trees, max_depth=depth, epsilon=epsilon, bounds=(0, 1), classes=[0, 1], n_jobs=1
        ).fit(np.array(data["X"]), np.array(data["y"]))
        return [answer for tree in model.estimators_ for answer in tree.predict(np.array(points))]

    return release


def scaler(epsilon, bounds):
    """Mean and variance."""

    def release(data):
        model = StandardScaler(epsilon=epsilon, bounds=tuple(bounds)).fit(np.array(data["X"]))
        return [*model.mean_, *model.var_]

    return release


serve(
    "diffprivlib",
    {"gaussian_nb": gaussian_nb, "logistic_regression": logistic_regression, "forest": forest, "scaler": scaler},
)
