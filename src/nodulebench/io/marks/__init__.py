"""Formats of marks and references, one per file."""
