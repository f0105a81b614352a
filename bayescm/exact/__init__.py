"""The exact siblings of the models, in numpy and scipy alone."""
