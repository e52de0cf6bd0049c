"""Verify results by recomputing them, and scorers by cases with known answers."""
