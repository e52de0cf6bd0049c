"""Algorithms under test: run on a test set apart from everything else, measured, and checked."""
