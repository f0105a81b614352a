"""Judges, raters and labels that may be wrong: coverage where the truth is uncertain."""
