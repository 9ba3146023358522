"""Kinds of private estimators by short names: the room and the class of each, and its name in words."""

from __future__ import annotations

MODELS = {
    "nb": ("discreet.bayes", "PrivateNB", "Naive Bayes"),
    "svm": ("discreet.linear", "PrivateSVC", "support vector machine"),
    "lr": ("discreet.linear", "PrivateLogisticRegression", "logistic regression"),
    "tree": ("discreet.trees", "PrivateTreeClassifier", "decision tree"),
    "additive": ("discreet.additive", "PrivateAdditiveClassifier", "additive logistic regression"),
    "tan": ("discreet.dependence", "PrivateTAN", "tree-augmented Naive Bayes"),
    "auto": ("discreet.auto", "PrivateClassifier", "automatic choice"),
    "forest": ("discreet.trees", "PrivateForestClassifier", "forest"),
}
USUAL = ("nb", "svm", "lr", "tree", "forest")  # what a comparison compares unless it is told
