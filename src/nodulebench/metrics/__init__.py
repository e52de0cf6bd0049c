"""Labelled cohort -> Curve or figure of merit."""
