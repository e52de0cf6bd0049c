"""The formats are listed with an example that is read as what it is."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from builders.outside import bring
from nodulebench.cli import main
from nodulebench.io.formats import FORMATS, Format, fitting


def listed(capsys, *names: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["formats", *names])
    assert not stopped.value.code
    return str(capsys.readouterr().out)


def test_every_format_is_listed_with_an_example(capsys) -> None:
    output = listed(capsys)
    for form in FORMATS.values():
        assert f"{form.name}: {form.meaning}" in output
        assert form.example
        assert form.example.splitlines()[0] in output


@pytest.mark.parametrize(
    "name", ["luna16_csv", "nifdc_csv", "grand_challenge_json", "monai_json", "coco3d_json"]
)
def test_an_example_is_of_its_format(tmp_path: Path, name: str) -> None:
    form = FORMATS[name]
    file = tmp_path / f"example{form.suffixes[0]}"
    file.write_text(form.example + "\n")
    assert fitting(file, "marks").name == name
    assert form.read_marks is not None
    if name != "grand_challenge_json":
        assert form.read_marks(file, None).marks.height > 0


def test_a_single_format_can_be_shown(capsys) -> None:
    assert listed(capsys, "bundle").splitlines() == [
        "bundle: NoduleBench's own folder of Parquet tables with a manifest of their digests "
        "(a folder)",
        "  reads a reference; writes a reference",
        "    set/",
        "      manifest.json  cases.parquet  nodules.parquet  nodule_slices.parquet",
    ]


def test_those_of_other_packages_are_listed_too(capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Format(name="own", meaning="what another package reads", suffixes=(".own",))
    bring(monkeypatch, FORMATS, {"own": SimpleNamespace(load=lambda: own)})
    assert "own: what another package reads (.own)" in listed(capsys)
