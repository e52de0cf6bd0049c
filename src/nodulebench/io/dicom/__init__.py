"""Read and write DICOM: CT series, reports and segmentations."""
