"""Curation: admit DICOM series as cases or exclude them with coded reasons; de-identify them."""

from nodulebench.core.registry import lazy_names

_MODULES = {
    "cover_files": "coverage",
    "curate_files": "service",
    "deidentify_folder": "deidentify.service",
    "draw_files": "sampling",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
