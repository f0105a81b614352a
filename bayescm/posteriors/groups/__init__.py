"""What the siblings of the models of groups work with."""
