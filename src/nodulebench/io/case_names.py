"""File names <-> names of cases and algorithms."""

from pathlib import Path, PurePosixPath

from nodulebench.core.errors import InputError

IMAGE_SUFFIXES = (".nii.gz", ".nii", ".mhd", ".mha", ".nrrd", ".dcm")


def algorithm_name(path: Path) -> str:
    """The name of an algorithm: its folder's name, or its file's without endings."""
    if path.is_dir():
        return path.resolve().name
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]


def case_of_image(image: str) -> str:
    """The case that an image file belongs to: its name without folders and image ending."""
    name = PurePosixPath(image.replace("\\", "/")).name
    for suffix in IMAGE_SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


def file_of_case(case_id: str, suffix: str) -> str:
    """The name of a case's own file.

    Raises:
        InputError: if the case's name cannot be that of a file.
    """
    if not case_id or case_id in (".", "..") or set(case_id) & set("/\\\0"):
        raise InputError.at(
            f"case '{case_id}'",
            "cannot be the name of a file.",
            "Rename the case, or choose a format that keeps all cases in one file.",
        )
    return case_id + suffix
