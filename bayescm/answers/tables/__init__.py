"""Tables of intervals, and how notebooks show them."""
