"""
One file for each revision of the schema.

A revision that has been released is never edited, and imports nothing of the package, so that it
makes the same tables for ever.
"""
