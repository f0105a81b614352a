"""Several members in order: ranks, sets of ranks that hold jointly, and tiers."""
