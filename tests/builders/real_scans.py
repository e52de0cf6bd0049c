"""Real scans without compression: decompressing one takes longer than most tests of it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from builders.places import TEST_DATA


def made_once(folders: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first process of this test run makes, and all others use."""
    base = folders.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / f"shared-{name}"
    with FileLock(f"{folder}.lock"):
        if not folder.exists():
            stage = shared / f"making-{name}"
            shutil.rmtree(stage, ignore_errors=True)  # of a process that was stopped
            stage.mkdir()
            make(stage)
            stage.rename(folder)
    return folder


def plain_scan(folders: pytest.TempPathFactory, name: str) -> Path:
    """The folder with the DICOM files of a real scan, decompressed. Do not change them."""
    pydicom = pytest.importorskip("pydicom")
    pytest.importorskip("openjpeg")
    archive = TEST_DATA / "ct" / f"{name}.zip"
    if not archive.is_file():
        pytest.skip(f"no CT scan at {archive}; set NODULEBENCH_TEST_DATA")

    def unpack(folder: Path) -> None:
        shutil.unpack_archive(archive, folder)
        for path in folder.rglob("*.dcm"):
            data = pydicom.dcmread(path)
            if "PixelData" in data:
                data.decompress(generate_instance_uid=False)
                data.save_as(path)

    return made_once(folders, name, unpack) / name
