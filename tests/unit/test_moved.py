"""Every module path that the documentation of version 0.1 named still imports, and says so."""

import subprocess
import sys
from importlib import import_module

import pytest

from nodulebench.moved import MOVED

DOCUMENTED = {
    "annotate.consistency": ("check_consistency",),
    "annotate.reading": ("DrawnFinding", "DrawnSlice", "Reading"),
    "curate.listen": ("listening",),
    "formats.chest_cad_sr": ("FORMAT",),
    "formats.dicom_header": ("SeriesHeader",),
    "formats.dicom_series": ("write_volume",),
    "formats.luna16_csv": ("read_reference", "read_marks"),
    "model.volume": ("make_volume", "Volume"),
}


@pytest.mark.parametrize("old", MOVED)
def test_an_old_path_gives_the_new_module_and_warns(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"nodulebench.{old}", raising=False)
    new = f"nodulebench.{MOVED[old]}"
    with pytest.warns(DeprecationWarning, match=f"nodulebench.{old} is now {new}") as warned:
        found = import_module(f"nodulebench.{old}")
    assert found is import_module(new)
    assert found.__name__ == new
    assert warned[0].filename.endswith(("test_moved.py", "importlib/__init__.py"))
    for name in DOCUMENTED[old]:
        assert hasattr(found, name)


def test_names_are_imported_from_an_old_path_as_ever() -> None:
    code = (
        "from nodulebench.formats import dicom_series\n"
        "from nodulebench.model.volume import Volume\n"
    )
    command = [sys.executable, "-W", "always", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count("DeprecationWarning") == 2


def test_what_has_not_moved_is_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"nodulebench\.formats\.nothing"):
        import_module("nodulebench.formats.nothing")
