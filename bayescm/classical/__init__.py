"""The frequentist catalogue: intervals to put beside the posterior ones."""
