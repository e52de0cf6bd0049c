"""Files on disk: our own tables, DICOM, images, LIDC, and the formats of marks and references.

What reads or writes a file raises InputError with every problem of it.
"""

from nodulebench.core.registry import lazy_names

_MODULES = {
    "FORMATS": "formats",
    "read_cases": "formats",
    "read_reference": "formats",
    "read_submission": "formats",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
