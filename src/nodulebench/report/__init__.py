"""Evaluation documents -> reports as HTML, PDF and CSV tables."""
