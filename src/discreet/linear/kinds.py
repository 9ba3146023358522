"""Support vector machine and logistic regression as kinds of models."""

from functools import partial

from discreet.kinds import Kind

_linear = partial(Kind, format="discreet/linear", model="discreet.linear.model:LinearModel", usual=True)
KINDS = (
    _linear("svm", "support vector machine", "discreet.linear:PrivateSVC"),
    _linear("logistic", "logistic regression", "discreet.linear:PrivateLogisticRegression", aliases=("lr",)),
)
