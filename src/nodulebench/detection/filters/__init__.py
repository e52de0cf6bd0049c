"""Parts that detectors share: shapes, scales and regions of an image."""
