"""Evaluation -> JSON and HTML."""
