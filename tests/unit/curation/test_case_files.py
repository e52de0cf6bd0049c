"""case_files.csv is read back, and the slices of admitted cases are exported."""

from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.curation.cases import (
    export_cases,
    read_case_files,
)
from nodulebench.io.json_files import write_json


def curated(tmp_path: Path, rows: str, **summary: str) -> Path:
    """A curation of two series and one file of many frames, as ``curate`` writes it."""
    archive = tmp_path / "archive"
    for name in ("x/IM2", "x/IM1", "y/many"):
        (archive / name).parent.mkdir(parents=True, exist_ok=True)
        (archive / name).write_bytes(name.encode())
    out = tmp_path / "curated"
    out.mkdir(exist_ok=True)
    (out / "case_files.csv").write_text("case_id,slice_index,file,frame\n" + rows)
    write_json(summary or {"folder": str(archive)}, out / "curation.json")
    return out


ROWS = "1.2,0,x/IM2,0\n1.2,1,x/IM1,0\n1.3,0,y/many,0\n1.3,1,y/many,1\n"


def test_files_come_in_order_and_each_once(tmp_path: Path) -> None:
    case_files = read_case_files(curated(tmp_path, ROWS))
    assert case_files.files == {"1.2": ("x/IM2", "x/IM1"), "1.3": ("y/many",)}
    assert case_files.folder == tmp_path / "archive"
    assert read_case_files(tmp_path / "curated", wanted={"1.3"}).files == {"1.3": ("y/many",)}


def test_moved_files_are_missing_until_their_folder_is_given(tmp_path: Path) -> None:
    out = curated(tmp_path, ROWS)
    (tmp_path / "archive").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"IM2: no longer exists\. If .* with --images"):
        read_case_files(out)
    assert read_case_files(out, tmp_path / "elsewhere").paths[0].is_file()


def test_cases_are_exported_by_name_and_place(tmp_path: Path) -> None:
    out = tmp_path / "cases"
    assert export_cases(read_case_files(curated(tmp_path, ROWS)), out) == 3
    exported = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*.dcm")}
    assert exported == {
        "1.2/0001.dcm": b"x/IM2",
        "1.2/0002.dcm": b"x/IM1",
        "1.3/0001.dcm": b"y/many",
    }
    with pytest.raises(InputError, match="is not empty"):
        export_cases(read_case_files(tmp_path / "curated"), out)


def test_no_row_leads_out_of_the_folder(tmp_path: Path) -> None:
    out = curated(tmp_path, "1.2,0,../../secret,0\n1.2,1,/etc/passwd,0\n")
    with pytest.raises(InputError, match=r"secret': is not below") as caught:
        read_case_files(out)
    assert len(caught.value.problems) == 2


def test_a_folder_that_is_not_a_curation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"holds no case_files\.csv\. Give a folder that 'nod"):
        read_case_files(tmp_path)
    older = curated(tmp_path, ROWS, schema="nodulebench/curation@1")
    with pytest.raises(InputError, match="does not name the folder that was curated"):
        read_case_files(older)
