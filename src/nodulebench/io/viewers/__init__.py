"""Files of other viewers, both ways: 3D Slicer's markups and segmentations, label maps."""
