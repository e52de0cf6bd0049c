"""DICOM files: headers, pixels, CT series; what reports and segmentations are made of."""
