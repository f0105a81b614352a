"""Answers for those who choose learners: the best of many, and what more data would bring."""
