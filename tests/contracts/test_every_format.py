"""What every format must do: what it writes it reads again, in order, empty or not."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from builders.dicom import image_headers
from nodulebench.core.errors import InputError
from nodulebench.io.formats import FORMATS, Format
from nodulebench.testing.formats import FORMAT_CHECKS, format_cases, format_reference


@pytest.fixture(scope="session")
def with_images(tmp_path_factory: pytest.TempPathFactory) -> pl.DataFrame:
    """The four cases with the folders of their images, whose pixels are never read."""
    pytest.importorskip("highdicom", reason="the extra 'dicom' is not installed")
    return image_headers(format_cases(), tmp_path_factory.mktemp("images"))


@pytest.fixture
def known(
    form: Format, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> pl.DataFrame:
    """The cases as a format needs them."""
    if not form.needs_images:
        return format_cases()
    monkeypatch.setattr("nodulebench.io.dicom.sr.moment", lambda: datetime(2026, 1, 2, 3, 4, 5))
    cases: pl.DataFrame = request.getfixturevalue("with_images")
    return cases


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, id=name, marks=pytest.mark.slow if form.needs_images else ())
        for name, form in FORMATS.items()
    ],
)
@pytest.mark.parametrize("check", FORMAT_CHECKS, ids=lambda check: check.__name__)
def test_it_keeps_to_the_contract(
    form: Format,
    check: Callable[[Format, Path, pl.DataFrame], None],
    known: pl.DataFrame,
    tmp_path: Path,
) -> None:
    check(form, tmp_path, known)


def test_the_contract_covers_every_lossless_format() -> None:
    writers = {name for name, form in FORMATS.items() if form.write_marks and not form.loses}
    assert {"luna16_csv", "nifdc_csv", "submission_folder", "monai_json", "dicom_sr"} <= writers
    sets = {name for name, form in FORMATS.items() if form.write_reference and not form.loses}
    assert {"bundle", "nifdc_csv", "monai_json"} <= sets
    assert "d" not in format_reference().nodules["case_id"].to_list()


def test_only_monai_json_refuses_ignored_findings(tmp_path: Path) -> None:
    nodules = format_reference().nodules.with_columns(is_ignored=True)
    some = replace(format_reference(), nodules=nodules)
    refused = set()
    for name, form in FORMATS.items():
        if form.write_reference and not form.loses:
            try:
                form.write_reference(some, tmp_path / name / f"set{form.suffixes[0].rstrip('/')}")
            except InputError:
                refused.add(name)
    assert refused == {"monai_json"}
