"""The name of a built-in detector, or a command -> a function from a CT volume to marks.

A command is called once per scan: ``{case}`` becomes the image, ``{out}`` an empty folder that it
writes its marks to, in any format that ``evaluate`` reads.
"""

import shlex
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.errors import InputError, Problem
from nodulebench.formats import read_submission
from nodulebench.formats.dicom import series as dicom_series
from nodulebench.formats.dicom.header import SeriesHeader, uid_from
from nodulebench.formats.images import metaimage, nifti
from nodulebench.imaging.volume import Volume
from nodulebench.model.tables import CASES
from nodulebench.phantom.truth import geometry_columns
from nodulebench.robustness.relations import Marks

Algorithm = Callable[[Volume], Marks]
IMAGE_FORMATS = ("metaimage", "nifti", "dicom")
CASE_ID = "case"


def read_case(path: Path) -> Volume:
    """The CT volume of a case: a MetaImage or NIfTI file, or a folder of DICOM files.

    Raises:
        InputError: if it is none of these, or with everything that is wrong with it.
    """
    if path.is_dir():
        return dicom_series.read_volume(path)
    if not path.is_file():
        raise InputError(Problem(str(path), "is not there.", "Give an image or a DICOM folder."))
    if path.name.endswith((".nii", ".nii.gz")):
        return nifti.read_volume(path)
    if path.suffix in (".mhd", ".mha"):
        return metaimage.read_volume(path)
    raise InputError(
        Problem(
            str(path),
            "is no image that is known.",
            "Give a .mhd, .mha, .nii or .nii.gz file, or a folder of DICOM files.",
        )
    )


def find_algorithm(name_or_command: str, image_format: str = "metaimage") -> Algorithm:
    """A built-in detector by its name, or any program by its command.

    Raises:
        UnknownNameError: if it is neither a command with {case} and {out} nor a detector's name.
    """
    if "{" in name_or_command:
        return _command(name_or_command, image_format)
    from nodulebench.algorithms.candidates import DETECTORS
    from nodulebench.algorithms.chest import see_chest

    detect = DETECTORS[name_or_command]

    def run(volume: Volume) -> Marks:
        candidates = detect(see_chest(volume))
        return Marks(candidates.center_mm, candidates.score)

    return run


def _command(template: str, image_format: str) -> Algorithm:
    missing = [word for word in ("{case}", "{out}") if word not in template]
    if missing:
        raise InputError(
            Problem(
                f"command '{template}'",
                f"does not say where {' and '.join(missing)} goes.",
                "Write it like 'my_detector {case} {out}'.",
            )
        )

    def run(volume: Volume) -> Marks:
        with tempfile.TemporaryDirectory() as folder:
            image = _write_case(volume, Path(folder), image_format)
            out = Path(folder) / "out"
            out.mkdir()
            _call(template, image, out)
            cases = CASES.conform(
                pl.DataFrame([{"case_id": CASE_ID, **geometry_columns(volume.geometry)}]), "case"
            )
            marks = read_submission(out, cases).marks
        center = marks.select("x_mm", "y_mm", "z_mm").to_numpy().astype(np.float64)
        return Marks(center.reshape(-1, 3), marks["score"].to_numpy().astype(np.float64))

    return run


def _write_case(volume: Volume, folder: Path, image_format: str) -> Path:
    if image_format == "nifti":
        path = folder / f"{CASE_ID}.nii.gz"
        nifti.write_volume(volume, path)
    elif image_format == "dicom":
        path = folder / CASE_ID
        header = SeriesHeader(
            uid_from(CASE_ID, "series"),
            uid_from(CASE_ID, "study"),
            uid_from(CASE_ID, "frame"),
            CASE_ID,
            slice_thickness_mm=float(volume.geometry.spacing_mm[2]),
            rescale_intercept=0,
        )
        dicom_series.write_volume(volume, path, header)
    else:
        path = folder / f"{CASE_ID}.mhd"
        metaimage.write_volume(volume, path)
    return path


def _call(template: str, image: Path, out: Path) -> None:
    words = [
        word.replace("{case}", str(image)).replace("{out}", str(out))
        for word in shlex.split(template)
    ]
    try:
        ended = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - the user's own command
    except OSError as error:
        raise InputError(
            Problem(f"command '{words[0]}'", f"cannot be started: {error.strerror}.")
        ) from error
    if ended.returncode:
        last = (ended.stderr.strip() or ended.stdout.strip() or "nothing").splitlines()[-1]
        raise InputError(
            Problem(f"command '{words[0]}'", f"ended with {ended.returncode}; it said: {last}")
        )
