"""Trees: public questions, private choices, noisy leaves; PrivateTreeClassifier and PrivateForestClassifier."""

from discreet.trees.classifier import PrivateForestClassifier, PrivateTreeClassifier
from discreet.trees.model import TreeModel
from discreet.trees.plan import TreePlan, plan_forest, plan_tree

__all__ = ["PrivateForestClassifier", "PrivateTreeClassifier", "TreeModel", "TreePlan", "plan_forest", "plan_tree"]
