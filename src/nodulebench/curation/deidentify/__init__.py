"""De-identification of CT slices by the profiles of DICOM PS3.15 Annex E."""
