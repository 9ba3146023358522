"""Calibration: a released model's scores get a slope and class biases that fit the private rows, at a small charge."""

from discreet.calibration.calibrate import Calibration, calibrated
from discreet.calibration.plan import CalibrationPlan, calibration_share, make_plan

__all__ = ["Calibration", "CalibrationPlan", "calibrated", "calibration_share", "make_plan"]
