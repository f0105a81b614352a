"""Shared parts of the direct posteriors of ROC curves."""
