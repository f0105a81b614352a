"""What the siblings of the models of scores work with."""
