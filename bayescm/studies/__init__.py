"""The simulation studies of the published works, rerun."""
