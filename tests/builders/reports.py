"""Marks written as DICOM reports, and the problems of reports that cannot be read."""

from pathlib import Path

import polars as pl
import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.tables import Submission
from nodulebench.io.formats import FORMATS, read_submission


def written(
    submission: Submission, cases: pl.DataFrame, path: Path, form: str = "dicom_sr"
) -> Path:
    """Where the marks are, once they are written."""
    FORMATS[form].write_marks(submission, path, cases)
    return path


def messages_of(path: Path, cases: pl.DataFrame | None = None, form: str = "dicom_sr") -> list[str]:
    """Every problem of what cannot be read."""
    with pytest.raises(InputError) as caught:
        read_submission(path, cases, form)
    return [str(problem) for problem in caught.value.problems]
