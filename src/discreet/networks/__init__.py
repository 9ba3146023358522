"""Networks: classifiers that see features together; one joint table of few, or a tree of pairs of many."""

from discreet.networks.grid import joint_cells, suits_joint
from discreet.networks.joint import PrivateJointHistogram
from discreet.networks.joint_model import JointModel
from discreet.networks.tan import PrivateTAN, tan_noise
from discreet.networks.tan_model import TANModel

__all__ = [
    "JointModel",
    "PrivateJointHistogram",
    "PrivateTAN",
    "TANModel",
    "joint_cells",
    "suits_joint",
    "tan_noise",
]
