"""Tables in folders and databases, counted where they are."""
