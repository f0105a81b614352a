"""What the direct posteriors of the models of scores work with."""
