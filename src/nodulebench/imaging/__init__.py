"""Geometry, volumes, outlines and lungs, below every workflow and file format."""
