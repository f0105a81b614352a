"""Frequentist answers about probabilities: bands of an isotonic curve, tests of calibration."""
