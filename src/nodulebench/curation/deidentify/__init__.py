"""CT slices with identities -> the same slices without, after DICOM PS3.15 Annex E."""
