"""Algorithms and rules beside each other."""
