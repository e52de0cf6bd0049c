"""A folder of images, one per case and named after it -> the Volume of a case."""

from collections.abc import Callable
from pathlib import Path

from nodulebench.errors import InputError, Problem
from nodulebench.imaging.volume import Volume

SUFFIXES = (".mhd", ".mha", ".nii", ".nii.gz")


def image_reader(folder: Path) -> Callable[[str], Volume]:
    """What reads the image of a case from a folder.

    The image of a case is ``<case_id>.mhd``, ``.mha``, ``.nii`` or ``.nii.gz``, or a folder
    ``<case_id>`` of DICOM files.
    """

    def read(case_id: str) -> Volume:
        from nodulebench.formats.dicom import series as dicom_series
        from nodulebench.formats.images import metaimage, nifti

        for suffix in SUFFIXES:
            path = folder / f"{case_id}{suffix}"
            if path.is_file():
                read_volume = metaimage.read_volume if ".mh" in suffix else nifti.read_volume
                return read_volume(path)
        if (folder / case_id).is_dir():
            return dicom_series.read_volume(folder / case_id)
        raise InputError(
            Problem(
                str(folder),
                f"has no image of case '{case_id}'.",
                f"Put {case_id}.mhd, .mha, .nii or .nii.gz there, or a folder {case_id} of DICOM.",
            )
        )

    return read
