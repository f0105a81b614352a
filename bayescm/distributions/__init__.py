"""Distributions of single numbers and of batches of numbers."""
