"""The engine of the posterior of a calibration curve."""
