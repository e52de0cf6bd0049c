"""Files of DICOM slices -> series admitted as CASES, or excluded with coded reasons."""
