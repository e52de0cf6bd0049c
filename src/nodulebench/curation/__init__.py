"""Curation: admit DICOM series as cases or exclude them with coded reasons; de-identify them."""
