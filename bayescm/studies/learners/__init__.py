"""Learners of many kinds: what their halves show, and how they rank."""
