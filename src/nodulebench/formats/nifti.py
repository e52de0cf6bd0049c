"""NIfTI (.nii, .nii.gz) <-> Volume; NIfTI's RAS coordinates become LPS and back."""

from pathlib import Path
from typing import Any

import numpy as np

from nodulebench.errors import InputError, Problem
from nodulebench.formats.folder import staged_file
from nodulebench.formats.optional_package import optional_package
from nodulebench.model.volume import Volume, make_volume


def read_volume(path: Path) -> Volume:
    """Read a NIfTI image.

    Raises:
        InputError: if it cannot be read or is no CT volume.
    """
    package = _simpleitk()
    if not path.is_file():
        raise InputError(Problem(str(path), "is not there."))
    try:
        image = package.ReadImage(str(path), imageIO="NiftiImageIO")
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[-1]
        raise InputError(
            Problem(str(path), f"is not a readable NIfTI image ({reason}).")
        ) from error
    if image.GetDimension() != 3 or image.GetNumberOfComponentsPerPixel() != 1:
        raise InputError(
            Problem(
                str(path), f"has the size {image.GetSize()}, not three dimensions of one value."
            )
        )
    return make_volume(
        package.GetArrayFromImage(image),
        spacing_mm=image.GetSpacing(),
        origin_mm=image.GetOrigin(),
        direction=np.array(image.GetDirection()),
        where=str(path),
    )


def write_volume(volume: Volume, path: Path) -> None:
    """Write a NIfTI image, compressed if its name ends with ``.gz``."""
    package = _simpleitk()
    image = package.GetImageFromArray(volume.hu)
    geometry = volume.geometry
    image.SetSpacing(geometry.spacing_mm.tolist())
    image.SetOrigin(geometry.origin_mm.tolist())
    image.SetDirection(geometry.direction.ravel().tolist())
    with staged_file(path) as staged:
        package.WriteImage(image, str(staged), useCompression=path.suffix == ".gz")


def _simpleitk() -> Any:
    return optional_package("SimpleITK", "images", "NIfTI")
