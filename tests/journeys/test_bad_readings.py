"""Readings that are wrong: the command says what and where, and no file changes."""

from pathlib import Path

import polars as pl
import pytest

from builders.annotation import small_cases, two_teams
from nodulebench.annotation.actions import NIFDC
from nodulebench.annotation.project import Project
from nodulebench.cli import main
from nodulebench.io.json_files import write_json

HEADER = "case_id,nodule_id,slice_index,center_x_mm,center_y_mm,length_mm,width_mm,contour\n"
GOOD = "a,f1,3,50,50,8,8,\na,f1,4,50,50,8,8,\n"


def run(capsys, *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0), capsys.readouterr().err


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def workdir(tmp_path: Path, capsys) -> Path:
    """A project with an open batch of case a, which r1 has read."""
    folder = tmp_path / "workdir"
    folder.mkdir()
    small_cases("a", "b").write_csv(folder / "cases.csv")
    project = Project(roster=two_teams(), rules=NIFDC)
    write_json(project.model_dump(mode="json"), folder / "project.json")
    for step in (
        ("open", folder, "b1", "a", "--team", "one", "--by", "office"),
        ("read", folder, "b1", wrote(tmp_path, GOOD), "--by", "r1"),
    ):
        assert run(capsys, "annotate", "review", *step)[0] == 0
    return folder


def wrote(folder: Path, rows: str) -> Path:
    (folder / "reading.csv").write_text(HEADER + rows)
    return folder / "reading.csv"


@pytest.mark.parametrize(
    ("reader", "rows", "what"),
    [
        pytest.param(
            "r99", GOOD, "error: person 'r99': is not known. Known: r1", id="unknown reader"
        ),
        pytest.param(
            "r4",
            GOOD,
            "error: batch 'b1': 'r4' is not one of its readers (r1, r2, r3).",
            id="reader of another team",
        ),
        pytest.param(
            "r2",
            GOOD.replace("a,", "b,"),
            "error: reader 'r2': marks case 'b', which is not among the 1 cases to be read. Remove "
            "the marks, or submit the reading to the batch it was made for.",
            id="wrong series",
        ),
        pytest.param(
            "r2",
            GOOD.replace("a,", "z,"),
            "error: reading.csv line 2: its case is not among the 2 whose geometry is given, so "
            "its slice cannot be located. Is it from another set?",
            id="unknown series",
        ),
        pytest.param(
            "r2",
            GOOD.replace("4,50,50", "4,150,50"),
            "error: reader 'r2' case 'a' finding 'f1' slice 4: the outline is outside the image. "
            "Is it a reading of another series, or in pixels instead of millimetres?",
            id="box outside the image",
        ),
        pytest.param(
            "r2",
            GOOD.replace("8,8,\n", "8,8,46 46;54 46;54 -9\n"),
            "error: reader 'r2' case 'a' finding 'f1' slice 3: the outline is outside the image.",
            id="outline outside the image",
        ),
        pytest.param(
            "r2",
            GOOD.replace("f1,4", "f1,40"),
            "error: reader 'r2' case 'a' finding 'f1' slice 40: is outside the image, which has 20 "
            "slices.",
            id="slice outside the image",
        ),
        pytest.param(
            "r2",
            GOOD.replace("8,8,\n", "8,8,46 46;54\n"),
            "error: reading.csv line 2: contour '46 46;54' is not a list of at least three points.",
            id="damaged outline",
        ),
        pytest.param(
            "r1",
            GOOD,
            "error: batch 'b1': 'r1' has already submitted case 'a'. A reading cannot be changed.",
            id="the same reading twice",
        ),
        pytest.param(
            "r1",
            "",
            "error: batch 'b1': 'r1' has already submitted case 'a'. A reading cannot be changed.",
            id="another reading of the same case",
        ),
        pytest.param(
            "r2",
            GOOD + GOOD,
            "error: reading.csv line 4: case_id 'a', nodule_id 'f1', slice_index '3' was given",
            id="the same rows twice",
        ),
    ],
)
def test_a_wrong_reading_leaves_the_project_as_it_was(
    workdir: Path, tmp_path: Path, capsys, reader: str, rows: str, what: str
) -> None:
    before = contents(workdir)
    code, output = run(
        capsys, "annotate", "review", "read", workdir, "b1", wrote(tmp_path, rows), "--by", reader
    )
    assert output.startswith(what)
    assert code == 1
    assert contents(workdir) == before


def xml(series: str = "1.2.3", at: int = 100, name: str = "N1") -> str:
    """One session that outlined a nodule of nine pixels."""
    rim = [(x, y) for x in range(5) for y in range(5) if x in (0, 4) or y in (0, 4)]
    points = "".join(
        f"<edgeMap><xCoord>{at + x}</xCoord><yCoord>{at + y}</yCoord></edgeMap>" for x, y in rim
    )
    return (
        '<?xml version="1.0" encoding="UTF-8"?><LidcReadMessage xmlns="http://www.nih.gov">'
        f"<ResponseHeader><SeriesInstanceUid>{series}</SeriesInstanceUid>"
        "<StudyInstanceUID>1.9</StudyInstanceUID></ResponseHeader><readingSession>"
        f"<unblindedReadNodule><noduleID>{name}</noduleID><roi>"
        "<imageZposition>0.0</imageZposition><imageSOP_UID>1.2</imageSOP_UID>"
        f"<inclusion>TRUE</inclusion>{points}</roi></unblindedReadNodule>"
        "</readingSession></LidcReadMessage>"
    )


@pytest.mark.parametrize(
    ("files", "what"),
    [
        pytest.param(
            {"a": xml(), "b": xml()[:-20]}, "b.xml: is not well-formed XML", id="malformed XML"
        ),
        pytest.param(
            {"a": xml(), "b": xml("1.2.9")},
            "error: series '1.2.9': has no voxel size, so its pixels cannot become "
            "millimetres. Give a table of cases that lists it with spacing and origin.",
            id="wrong series",
        ),
        pytest.param(
            {"a": xml(at=510)},
            "error: a.xml session 1 nodule 'N1': has an outline outside the image of series "
            "'1.2.3'. Is it the reading of another series?",
            id="outline outside the image",
        ),
        pytest.param(
            {"a": xml(), "b": xml(name="other")},
            "error: b.xml: series '1.2.3' was read before with other marks, in a.xml. Leave only "
            "one of the two files.",
            id="another reading of the same series",
        ),
    ],
)
def test_wrong_lidc_files_make_no_reference(
    tmp_path: Path, capsys, files: dict[str, str], what: str
) -> None:
    source = tmp_path / "xml"
    source.mkdir()
    for name, text in files.items():
        (source / f"{name}.xml").write_text(text)
    pl.DataFrame(
        {
            "seriesuid": ["1.2.3"],
            "pixel_spacing_mm": [0.7],
            "slice_spacing_mm": [2.0],
            "z_first_mm": [0.0],
            "n_slices": [10],
            "luna_origin_x_mm": [0.0],
            "luna_origin_y_mm": [0.0],
        }
    ).write_csv(tmp_path / "scans.csv")
    before = contents(tmp_path)
    options = ("--out", tmp_path / "out", "--findings", tmp_path / "findings")
    code, output = run(capsys, "reference", "build", source, "--reference-rule", "union", *options)
    assert what in output
    assert code == 1
    assert contents(tmp_path) == before


def test_the_same_lidc_file_twice_counts_once_with_a_message(tmp_path: Path, capsys) -> None:
    source = tmp_path / "xml"
    source.mkdir()
    for name in ("a", "b"):
        (source / f"{name}.xml").write_text(xml())
    (tmp_path / "scans.csv").write_text(
        "seriesuid,pixel_spacing_mm,slice_spacing_mm,z_first_mm\n1.2.3,0.7,2,0\n"
    )
    options = ("--reference-rule", "union", "--out", tmp_path / "out")
    code, output = run(capsys, "reference", "build", source, *options)
    assert code == 0
    assert "warning: 1 file repeats the reading of a series; the reading counts once." in output
    assert pl.read_parquet(tmp_path / "out" / "nodules.parquet").height == 1
