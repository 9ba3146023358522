"""Dependence: classifiers that see features together; one joint table of few, or a tree of pairs of many."""

from discreet.dependence.grid import joint_cells, suits_joint
from discreet.dependence.joint import PrivateJointHistogram
from discreet.dependence.joint_model import JointModel
from discreet.dependence.tan import PrivateTAN, tan_noise
from discreet.dependence.tan_model import TANModel

__all__ = [
    "JointModel",
    "PrivateJointHistogram",
    "PrivateTAN",
    "TANModel",
    "joint_cells",
    "suits_joint",
    "tan_noise",
]
