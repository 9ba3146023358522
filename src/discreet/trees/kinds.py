"""Decision tree and forest as kinds of models."""

from functools import partial

from discreet.kinds import Kind

_trees = partial(Kind, format="discreet/trees", model="discreet.trees.model:TreeModel", usual=True)
KINDS = (
    _trees("tree", "decision tree", "discreet.trees:PrivateTreeClassifier"),
    _trees("forest", "forest", "discreet.trees:PrivateForestClassifier"),
)
