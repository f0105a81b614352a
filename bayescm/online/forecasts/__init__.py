"""Probabilities and scores batch by batch: counts by bin and truth, what they say, their alarms."""
