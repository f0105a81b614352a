"""Distributions of measures that are integrals: rays, nodes and draws, one behind the other."""
