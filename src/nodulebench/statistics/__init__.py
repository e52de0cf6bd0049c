"""Metric x case weights -> Estimate."""
