"""Networks: classifiers that see features together; one joint table of few, or a tree of pairs of many."""

from discreet.networks.grid import joint_cells, suits_joint
from discreet.networks.joint import PrivateJointHistogram
from discreet.networks.joint_model import JointModel

__all__ = ["JointModel", "PrivateJointHistogram", "joint_cells", "suits_joint"]
