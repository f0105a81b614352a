"""Questions about raters: how far they agree, and what is true of the examples."""
