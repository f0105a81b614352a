"""Calibration: the curve of what comes true, with a band that holds everywhere, and its test."""

from bayescm.curves.calibration.curve import curve, test
from bayescm.curves.calibration.recalibrating import recalibrated

__all__ = ["curve", "recalibrated", "test"]
