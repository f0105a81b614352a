"""The catalogue of models: one method, one stand-alone file of plain PyMC."""
