"""A scan in, marks out: detectors, their training, their robustness."""
