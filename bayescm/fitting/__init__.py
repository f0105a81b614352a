"""Posteriors as ArviZ trees, from direct draws or from NUTS."""
