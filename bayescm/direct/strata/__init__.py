"""Examples in strata, by what was said of them, and what is true in each."""
