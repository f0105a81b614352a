"""Studies of groups, slices and repeated answers."""
