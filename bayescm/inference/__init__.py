"""Algorithms of Bayesian inference, named as in textbooks and implemented on arrays."""
