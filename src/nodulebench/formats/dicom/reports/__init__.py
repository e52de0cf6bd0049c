"""DICOM reports and segmentations: what they say of nodules, by one road into tables and back."""
