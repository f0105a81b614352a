"""Answers: intervals, summaries, comparisons, joint statements and regions."""
