"""Studies of forecasts of more than two classes."""
