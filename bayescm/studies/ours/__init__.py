"""The project's own simulations."""
