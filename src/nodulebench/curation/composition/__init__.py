"""The composition of a test set: designs, coverage and random sampling."""
