"""Measurements, as ratios within one run; machines are noisy, so no test depends on them."""
