"""Modules that the documentation of version 0.1 named -> where they are now, for one release.

The old path still imports and warns. The finder stands last in ``sys.meta_path``, so that it is
asked only for modules that nothing else finds.
"""

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "annotate.consistency": "annotate.readings.consistency",
    "annotate.reading": "annotate.readings.reading",
    "curate.listen": "curate.intake.listen",
    "formats.chest_cad_sr": "formats.dicom.reports.chest_cad_sr",
    "formats.dicom_header": "formats.dicom.header",
    "formats.dicom_series": "formats.dicom.volume",
    "formats.luna16_csv": "formats.marks.luna16_csv",
    "model.volume": "imaging.volume",
}
"""Old path -> new path, both below ``nodulebench``."""


class MovedModules:
    """Finder and loader: the module at the old path is the one at the new path."""

    @staticmethod
    def find_spec(
        name: str,
        path: Sequence[str] | None = None,  # noqa: ARG004
        target: ModuleType | None = None,  # noqa: ARG004
    ) -> ModuleSpec | None:
        """The specification of a module that has moved; None for every other."""
        package, _, old = name.partition(".")
        if package != "nodulebench" or old not in MOVED:
            return None
        return ModuleSpec(name, MovedModules())  # type: ignore[arg-type]  # has what is asked for

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """The usual empty module; it is replaced at once."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Put the module of the new path into the old one's place, and say so."""
        new = f"nodulebench.{MOVED[module.__name__.partition('.')[2]]}"
        warnings.warn(
            f"{module.__name__} is now {new}; the old name goes with version 0.3.",
            DeprecationWarning,
            stacklevel=2,
        )
        sys.modules[module.__name__] = import_module(new)
