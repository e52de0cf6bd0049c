"""Whatever happens to a file of a CT series, the answer is a volume or an InputError."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders.dicom import as_enhanced, write_series
from nodulebench.core.errors import InputError
from nodulebench.io.dicom.volumes import images_of_cases, read_volume
from nodulebench.io.formats import read_cases

pytest.importorskip("pydicom")

HEADER_BYTES = 5000
"""Pixels may be anything; what is bent is what comes before them."""


@pytest.fixture(scope="module", params=["classic", "enhanced"])
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a series of three, or one with all frames."""
    folder = tmp_path_factory.mktemp("images")
    write_series(folder / "classic")
    if request.param == "enhanced":
        as_enhanced(folder / "classic", folder / "enhanced")
        return folder / "enhanced" / "enhanced.dcm"
    for path in sorted((folder / "classic").iterdir())[3:]:
        path.unlink()
    return folder / "classic" / "0002.dcm"


@given(
    damage=st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.one_of(
                st.binary(min_size=1, max_size=4),
                st.sampled_from([b"-", b"9", b"e9", b"\\", b"\xff\xff\xff\xff"]),
            ),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=60)
def test_any_damage_gets_an_answer(file: Path, damage: list[tuple[float, bytes]]) -> None:
    whole = file.read_bytes()
    bent = bytearray(whole)
    for share, junk in damage:
        at = 132 + int(share * (min(len(bent), HEADER_BYTES) - 132))
        bent[at : at + len(junk)] = junk
    file.write_bytes(bent)
    try:
        with suppress(InputError):
            for series in images_of_cases(read_cases(file.parent)).values():
                series.geometry.to_index(series.geometry.origin_mm[None])
        with suppress(InputError):
            read_volume(file.parent)
    finally:
        file.write_bytes(whole)
