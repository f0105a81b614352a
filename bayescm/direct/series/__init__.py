"""What the sibling of the model of drifting rates works with."""
