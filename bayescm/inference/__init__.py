"""Algorithms of Bayesian inference, named as in textbooks; they work on arrays only."""
