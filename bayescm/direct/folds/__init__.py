"""What the siblings of the models of folds work with."""
