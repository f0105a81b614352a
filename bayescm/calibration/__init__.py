"""Calibration: the curve of what comes true, with a band that holds everywhere, and its test."""

from bayescm.calibration.curve import curve, test

__all__ = ["curve", "test"]
