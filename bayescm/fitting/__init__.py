"""The posterior as an ArviZ tree: by direct draws or by NUTS."""
