"""Algorithms of Bayesian inference by their textbook names: arrays in, arrays out."""
