"""Metrics and case weights -> intervals, tests, rankings and sample sizes."""
