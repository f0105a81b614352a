"""Simulated coverage of intervals."""
