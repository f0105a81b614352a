"""Rates corrected by a judge, as they are published."""
