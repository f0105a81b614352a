"""Decisions by probabilities: net benefit, costs, and answering only when sure."""
