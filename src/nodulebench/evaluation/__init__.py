"""Evaluate marks against a reference: metrics, comparisons, plans, checks and result folders."""
