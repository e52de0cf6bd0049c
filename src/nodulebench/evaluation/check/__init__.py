"""Checks of a submission: its rows, case names, scores and coordinates."""
