"""Reference algorithms whose behaviour is known: lung segmentation, candidate detectors."""
