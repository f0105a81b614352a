"""
One file for each revision of the schema.

The code of a released revision is never edited and imports nothing from the package, so that it
always creates the same tables.
"""
