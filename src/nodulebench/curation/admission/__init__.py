"""Examination of one series: its slices, its image, and the checks that exclude it."""
