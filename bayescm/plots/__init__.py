"""Pictures: one file per theme."""
