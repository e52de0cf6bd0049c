"""Whatever happens to a DICOM file, the answer is marks or an InputError."""

from collections import UserDict
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders.chest_cad import cad_report, composite, dcm, finding, number, place, save
from builders.dicom import marks_on, write_series
from nodulebench.core.errors import InputError
from nodulebench.io.dicom.volumes import images_of_cases
from nodulebench.io.formats import FORMATS, read_cases, read_submission

pydicom = pytest.importorskip("pydicom")
pytest.importorskip("highdicom")

EXAMPLES = 30
KINDS = ("dicom_sr", "undefined lengths", "dicom_seg", "chest_cad_sr")


class Files(UserDict[str, bytes]):
    """Files by kind, which do not show their bytes when a test fails."""

    def __repr__(self) -> str:
        return f"files of {len(self)} kinds"


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    folder = tmp_path_factory.mktemp("images")
    write_series(folder)
    return read_cases(folder)


@pytest.fixture(scope="module")
def files(cases: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A whole file of each kind."""
    folder = tmp_path_factory.mktemp("whole")
    for name in ("dicom_sr", "dicom_seg"):
        FORMATS[name].write_marks(marks_on(cases), folder / f"{name}.dcm", cases)
    data = pydicom.dcmread(folder / "dicom_sr.dcm")
    _undefine(data)
    data.save_as(folder / "undefined lengths.dcm")
    (series,) = images_of_cases(cases).values()
    parts = [finding(place("center", "POINT", [20.5, 20.5], k)) for k in (1, 2)]
    report = cad_report(
        series, composite(number(dcm("certainty of feature"), 85), *parts), images=(4, 5)
    )
    save(report, folder / "chest_cad_sr.dcm")
    return Files({name: (folder / f"{name}.dcm").read_bytes() for name in KINDS})


def _undefine(data: Any) -> None:
    """Let sequences end by delimiters, as many products write them."""
    for element in data:
        if element.VR == "SQ":
            element.is_undefined_length = True
            for item in element.value:
                item.is_undefined_length_sequence_item = True
                _undefine(item)


def read(content: bytes, name: str, folder: Path, cases: pl.DataFrame) -> Any:
    path = folder / "x.dcm"
    path.write_bytes(content)
    form = "dicom_sr" if name == "undefined lengths" else name
    return read_submission(path, cases, form)


@pytest.mark.parametrize("name", KINDS)
def test_the_whole_file_is_read(
    files: Files, cases: pl.DataFrame, tmp_path: Path, name: str
) -> None:
    content = read(files[name], name, tmp_path, cases)
    assert content.marks.height == (1 if name == "chest_cad_sr" else 3)


@pytest.mark.parametrize("name", KINDS)
@given(share=st.floats(0, 1, exclude_max=True))
@settings(max_examples=EXAMPLES)
def test_a_file_cut_short_anywhere_is_refused(
    files: Files,
    cases: pl.DataFrame,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    share: float,
) -> None:
    content = files[name]
    with pytest.raises(InputError):
        read(content[: int(share * len(content))], name, tmp_path_factory.mktemp("cut"), cases)


@pytest.mark.parametrize("name", KINDS)
@given(
    damage=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.binary(min_size=1, max_size=4)),
        min_size=1,
        max_size=5,
    )
)
@example(damage=[(0.5326290643100391, b"\x01")])  # one number where a segment's plane has six
@example(damage=[(0.3091084317149788, b"\x00\x00")])  # a measured value without its number
@example(damage=[(0.04296875, b"\x00")])  # the kind of a segmentation is no UID
@example(damage=[(0.03515625, b"\x00")])  # nor that of a report
@settings(max_examples=EXAMPLES)
def test_any_damage_gets_an_answer(
    files: Files,
    cases: pl.DataFrame,
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    damage: list[tuple[float, bytes]],
) -> None:
    bent = bytearray(files[name])
    for share, junk in damage:
        at = 132 + int(share * (len(bent) - 132))
        bent[at : at + len(junk)] = junk
    with suppress(InputError):
        read(bytes(bent), name, tmp_path_factory.mktemp("bent"), cases)
