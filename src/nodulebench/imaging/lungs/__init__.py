"""Lungs of a scan: air in the body, lung regions, sides, airways, density, warnings."""
