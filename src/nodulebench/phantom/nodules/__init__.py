"""Nodules as analytic shapes: their kinds, their places."""
