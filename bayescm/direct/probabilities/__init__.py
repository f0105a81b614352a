"""The engines of the posterior of probabilities: population, calibration curve, distances."""
