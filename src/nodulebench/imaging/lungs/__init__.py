"""The lungs of a scan: segmentation, airways, density, which part a place lies in."""
