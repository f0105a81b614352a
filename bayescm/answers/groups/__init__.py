"""Groups and slices: how far they are apart, and which of them are bad."""
