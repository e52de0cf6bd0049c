"""Marks and a reference in, a folder of results with its report out."""
