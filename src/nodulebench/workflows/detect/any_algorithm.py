"""The names of built-in detectors, or a command -> a function from a CT volume to marks."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.formats import read_submission
from nodulebench.formats.dicom import volume as dicom_volume
from nodulebench.formats.dicom.header import SeriesHeader, uid_from
from nodulebench.formats.images import metaimage, nifti
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.volume import Volume
from nodulebench.model.tables import CASES
from nodulebench.robustness.relations import Marks
from nodulebench.run.command import check_command, run_command

Algorithm = Callable[[Volume], Marks]
CASE_ID = "case"


def find_algorithm(name_or_command: str, image_format: str = "metaimage") -> Algorithm:
    """Built-in detectors by name (``a`` or ``a+b``), or any program by its command.

    Raises:
        UnknownNameError: if it is neither a command with {case} and {out} nor a detector's name.
    """
    if "{" in name_or_command:
        return _command(name_or_command, image_format)
    from nodulebench.algorithms.chest import see_chest
    from nodulebench.algorithms.detectors import detect_nodules, detector_names

    names = detector_names(name_or_command)

    def run(volume: Volume) -> Marks:
        candidates = detect_nodules(names, see_chest(volume))
        return Marks(candidates.center_mm, candidates.score)

    return run


def _command(template: str, image_format: str) -> Algorithm:
    check_command(template)

    def run(volume: Volume) -> Marks:
        with tempfile.TemporaryDirectory() as folder:
            image = _write_case(volume, Path(folder), image_format)
            out = Path(folder) / "out"
            out.mkdir()
            run_command(template, image, out)
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
        dicom_volume.write_volume(volume, path, header)
    else:
        path = folder / f"{CASE_ID}.mhd"
        metaimage.write_volume(volume, path)
    return path
