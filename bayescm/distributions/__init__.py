"""The distribution of one number, or of a batch of them."""
