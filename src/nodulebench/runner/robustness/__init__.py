"""Robustness tests: whether marks change as expected on variants of a scan."""
