"""The simulations of the published works, ours beside theirs."""
