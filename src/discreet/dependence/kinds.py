"""Joint histogram and tree-augmented Naive Bayes as kinds of models."""

import math

from discreet.kinds import Facts, Kind, Promise

MANY = 20  # features, from which on one tree of pairs sees too little of them
CLEAR = 0.15  # noise beside rows in a mean cell of a pair table


def tree_of_pairs(facts: Facts) -> Promise:
    """With several classes and small tables of pairs one parent per feature can be told from noise."""
    from discreet.dependence.tan import tan_noise

    if facts.classes == 2:
        return Promise(None)
    noise = tan_noise(facts.schema, facts.rows, facts.epsilon)
    worth = noise <= CLEAR and facts.features <= MANY and not facts.schema.numeric
    why = f"tables of pairs carry noise of {noise:.1%} of a mean cell, so features may lean on each other"
    return Promise(3 if worth else None, why, {"noise": noise} if math.isfinite(noise) else {})


def together(facts: Facts) -> Promise:
    """A grid of all features that the rows fill: nothing about them has to be assumed."""
    from discreet.dependence.grid import joint_cells, suits_joint

    epsilon = facts.table or facts.epsilon
    if not suits_joint(facts.schema, facts.rows, epsilon):
        return Promise(None)
    side = joint_cells(facts.schema, facts.rows, epsilon)
    why = (
        f"{facts.features} feature(s) and about {facts.rows:.0f} rows fill a grid of {side} cells a side at this budget"
    )
    return Promise(5, why, {"side": side})


_TAN = ("tan", "tree-augmented Naive Bayes", "discreet.dependence:PrivateTAN")
_JOINT = ("joint", "joint histogram", "discreet.dependence:PrivateJointHistogram")
KINDS = (
    Kind(*_TAN, "discreet/tan", "discreet.dependence:TANModel", promise=tree_of_pairs, counted=True),
    Kind(*_JOINT, "discreet/joint", "discreet.dependence:JointModel", promise=together, counted=True),
)
