"""Two references on disk -> which nodules they share, and how far they differ."""

from pathlib import Path

from nodulebench.io.formats import read_reference
from nodulebench.reference.compare import ReferenceComparison, compare_references


def compare_reference_files(first: Path, second: Path) -> ReferenceComparison:
    """Pair the nodules of two references.

    Raises:
        InputError: if one cannot be read, or they have no case in common.
    """
    return compare_references(read_reference(first), read_reference(second))
