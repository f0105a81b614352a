"""Several classifiers on several data sets: tests of ranks, and of signed ranks."""
