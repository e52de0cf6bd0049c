"""Read and write files of other viewers: 3D Slicer's markups and segmentations, label maps."""
