"""The combine command and the check of folds from start to end."""

import zlib
from pathlib import Path

import polars as pl
import pytest

from nodulebench.cli import main

HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"
COLUMNS = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


@pytest.fixture
def luna16(tmp_path: Path) -> Path:
    """Four scans, three nodules."""
    folder = tmp_path / "luna16"
    folder.mkdir()
    nodules = "s1,0,0,0,8\ns2,0,0,0,8\ns3,0,0,0,8\n"
    (folder / "annotations.csv").write_text(COLUMNS + nodules)
    (folder / "annotations_excluded.csv").write_text(COLUMNS)
    (folder / "seriesuids.csv").write_text("s1\ns2\ns3\ns4\n")
    return folder


def write(folder: Path, name: str, *rows: str, header: str = HEADER) -> Path:
    path = folder / f"{name}.csv"
    path.write_text(header + "".join(f"{row}\n" for row in rows))
    return path


@pytest.fixture
def three(tmp_path: Path) -> list[Path]:
    """Detectors that find scan 1, scans 1 and 2, and scan 3."""
    return [
        write(tmp_path, "p", "s1,0,0,0,0.9", "s4,50,0,0,0.2"),
        write(tmp_path, "q", "s1,2,0,0,0.5", "s2,0,0,0,0.7"),
        write(tmp_path, "r", "s3,1,0,0,0.4", "s4,52,0,0,0.6"),
    ]


def test_candidate_lists_are_merged_and_all_combinations_tabulated(
    luna16: Path, three: list[Path], tmp_path: Path, capsys
) -> None:
    out, table = tmp_path / "out.csv", tmp_path / "table.csv"
    assert run("combine", *three, "--reference", luna16, "--out", out, "--table", table) == 0
    rows = pl.read_csv(table).to_dicts()
    assert [row["members"] for row in rows] == ["p", "q", "r", "p+q", "p+r", "q+r", "p+q+r"]
    assert [row["hits"] for row in rows] == [1, 2, 1, 2, 2, 3, 3]
    assert [row["candidates"] for row in rows] == [2, 2, 2, 3, 3, 4, 4]
    assert rows[3]["best_single"] == pytest.approx(2 / 3)
    assert rows[3]["difference"] == pytest.approx(0)
    assert rows[6]["candidates_per_case"] == 1.0
    merged = pl.read_csv(out)
    assert merged.columns == [
        *("seriesuid", "coordX", "coordY", "coordZ", "probability", "class", "sources")
    ]
    assert merged.rows() == [
        ("s1", 0.0, 0.0, 0.0, 0.9, 1, "p+q"),
        ("s2", 0.0, 0.0, 0.0, 0.7, 1, "q"),
        ("s3", 1.0, 0.0, 0.0, 0.4, 1, "r"),
        ("s4", 52.0, 0.0, 0.0, 0.6, 0, "p+r"),
    ]
    output = capsys.readouterr().out
    assert "p+q+r       1.000        0.667        +0.333      4           1.0" in output
    assert f"wrote {out}: 4 candidates" in output


def test_the_combination_is_itself_a_submission_and_a_candidate_list(
    luna16: Path, three: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    assert run("combine", *three, "--reference", luna16, "--out", out) == 0
    evaluated = ("evaluate", out, "--reference", luna16, "--bootstraps", 0)
    assert run(*evaluated, "--candidates", out) == 0


def test_lists_without_scores_are_merged(luna16: Path, tmp_path: Path) -> None:
    header = "seriesuid,coordX,coordY,coordZ,class\n"
    lists = [
        write(tmp_path, "p", "s1,0,0,0,1", header=header),
        write(tmp_path, "q", "s1,4,0,0,0", "s2,9,0,0,0", header=header),
    ]
    out = tmp_path / "out.csv"
    assert run("combine", *lists, "--reference", luna16, "--out", out) == 0
    assert pl.read_csv(out).columns == [
        *("seriesuid", "coordX", "coordY", "coordZ", "class", "sources")
    ]
    assert pl.read_csv(out)["class"].to_list() == [1, 0]


def test_linkage_place_and_distance_can_be_chosen(luna16: Path, tmp_path: Path) -> None:
    lists = [
        write(tmp_path, "p", "s1,0,0,0,0.9", "s1,4,0,0,0.8"),
        write(tmp_path, "q", "s1,8,0,0,0.7"),
    ]
    out = tmp_path / "out.csv"
    for more, places in (
        ((), [0.0, 8.0]),
        (("--position", "mean"), [2.0, 8.0]),
        (("--linkage", "single"), [0.0]),
        (("--linkage", "single", "--position", "mean"), [4.0]),
        (("--linkage", "greedy", "--position", "mean"), [2.0, 8.0]),
        (("--distance", 3), [0.0, 4.0, 8.0]),
    ):
        assert run("combine", *lists, "--reference", luna16, "--out", out, *more) == 0
        assert pl.read_csv(out)["coordX"].to_list() == places


def test_scores_on_a_common_list_are_averaged(luna16: Path, tmp_path: Path, capsys) -> None:
    places = ("s1,0,0,0", "s2,0,0,0", "s4,50,0,0")
    scores = {"p": (0.9, 0.1, 0.5), "q": (0.8, 0.7, 0.2)}
    files = [
        write(
            tmp_path,
            name,
            *(f"{place},{columns}" for place, columns in zip(places, of, strict=True)),
        )
        for name, of in scores.items()
    ]
    out, table = tmp_path / "out.csv", tmp_path / "table.csv"
    assert (
        run(
            *("combine", *files, "--method", "scores", "--reference", luna16),
            *("--out", out, "--table", table),
        )
        == 0
    )
    assert pl.read_csv(out)["probability"].to_list() == pytest.approx([0.85, 0.4, 0.35])
    rows = {row["members"]: row for row in pl.read_csv(table).to_dicts()}
    assert rows["p"]["sensitivity_at_0.125"] == pytest.approx(1 / 3)
    assert rows["q"]["sensitivity_at_0.125"] == pytest.approx(2 / 3)
    assert rows["p+q"]["cpm"] == pytest.approx(2 / 3)
    assert rows["p+q"]["best_single"] == pytest.approx(rows["q"]["cpm"])
    assert rows["p+q"]["difference"] == pytest.approx(0)
    assert "0.125" in capsys.readouterr().out


def write_mask(path: Path) -> None:
    """A lung of one voxel of 1 mm, 8 bits, at the origin; LUNA16 writes them compressed."""
    voxels = bytes([4])
    path.with_suffix(".zraw").write_bytes(zlib.compress(voxels))
    path.write_text(
        "ObjectType = Image\nNDims = 3\nDimSize = 1 1 1\nElementSpacing = 1 1 1\n"
        "Offset = 0 0 0\nElementType = MET_UCHAR\nCompressedData = True\n"
        f"ElementDataFile = {path.stem}.zraw\n"
    )


def test_candidates_far_from_the_lungs_are_dropped(luna16: Path, tmp_path: Path, capsys) -> None:
    masks = tmp_path / "masks"
    masks.mkdir()
    write_mask(masks / "s1.mhd")
    files = [
        write(tmp_path, "p", "s1,0,0,0,0.9", "s1,10.5,0,0,0.9"),
        write(tmp_path, "q", "s1,0,9.5,0,0.9"),
    ]
    out = tmp_path / "out.csv"
    arguments = ("combine", *files, "--reference", luna16, "--out", out, "--lung-masks", masks)
    assert run(*arguments) == 0
    assert sorted(pl.read_csv(out).select("coordX", "coordY").rows()) == [(0, 0), (0, 9.5)]
    assert run(*arguments, "--slack", 11) == 0
    assert pl.read_csv(out).height == 3
    write(tmp_path, "q", "s2,0,0,0,0.9")
    assert run(*arguments) == 1
    assert capsys.readouterr().err == (
        f"error: {masks}: has no lung mask of case 's2'. Put s2.mhd or s2.mha there.\n"
    )


def test_one_submission_cannot_be_combined(luna16: Path, three: list[Path], capsys) -> None:
    assert run("combine", three[0], "--reference", luna16) == 1
    assert capsys.readouterr().err == ("error: combination: of 1 submission. Give two or more.\n")


def test_too_many_submissions_are_refused_before_work_begins(
    luna16: Path, tmp_path: Path, capsys
) -> None:
    files = [write(tmp_path, f"a{number}", "s1,0,0,0,0.5") for number in range(11)]
    assert run("combine", *files, "--reference", luna16) == 1
    assert "combination: of 11 submissions has 2047 parts. Give at most 10." in (
        capsys.readouterr().err
    )


def test_two_real_submissions_merge_on_fold_9(luna16_data: Path, tmp_path: Path) -> None:
    submissions, table = luna16_data / "submissions", tmp_path / "table.csv"
    assert (
        run(
            *("combine", submissions / "deeplung_dpn26_888.csv.gz"),
            *(submissions / "res18_focal_fold9.csv", "--reference", luna16_data),
            *("--series", luna16_data / "fold9_seriesuids.csv", "--table", table),
        )
        == 0
    )
    first, second, both = pl.read_csv(table).to_dicts()
    assert (first["hits"], second["hits"]) == (97, 104)  # as the official program counts them
    assert both["candidates"] < first["candidates"] + second["candidates"]


def folds(folder: Path, *rows: str, header: str = "seriesuid,fold\n") -> Path:
    return write(folder, "folds", *rows, header=header)


def test_folds_that_test_every_case_once_are_listed(luna16: Path, tmp_path: Path, capsys) -> None:
    path = folds(tmp_path, "s1,0", "s2,0", "s3,1", "s4,1")
    assert run("folds", "check", path, "--reference", luna16) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["0", "2", "-", "2"]
    assert lines[2].split() == ["1", "2", "-", "1"]
    assert lines[3] == (
        "note: no case names its patient; each of them counts as a separate patient. Name "
        "them with --cases, a table of case_id and patient_id."
    )
    assert lines[4] == "every one of 4 cases is tested once, in 2 folds"


def test_patients_are_counted_where_they_are_named(luna16: Path, tmp_path: Path, capsys) -> None:
    path = folds(tmp_path, "s1,0", "s2,0", "s3,1", "s4,1")
    header = "case_id,patient_id\n"
    cases = write(tmp_path, "cases", "s1,a", "s2,a", "s3,b", "s4,c", header=header)
    assert run("folds", "check", path, "--reference", luna16, "--cases", cases) == 0
    output = capsys.readouterr().out
    assert [line.split()[2] for line in output.splitlines()[1:3]] == ["1", "2"]
    assert "note:" not in output
    drawn = tmp_path / "drawn.csv"
    given = ("--reference", luna16, "--count", 2, "--cases")
    assert run("folds", "make", drawn, *given, cases) == 0
    assert "note:" not in capsys.readouterr().out
    some = write(tmp_path, "some", "s1,a", "s2,a", "s3,b", "s4,", header=header)
    assert run("folds", "make", drawn, *given, some) == 0
    assert "note: 1 cases name no patient; each of them counts" in capsys.readouterr().out


def test_every_problem_of_folds_is_reported(luna16: Path, tmp_path: Path, capsys) -> None:
    path = folds(tmp_path, "s1,0", "s1,1", "s2,0", "s9,1", "s4,1")
    assert run("folds", "check", path, "--reference", luna16) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: case 's1': is tested in folds 0, 1. Test every case once.",
        "error: case 's3': is in no fold. Test every case once.",
        "error: case 's9': is not in the test set 'luna16' (4 cases). Remove it, or check against "
        "the set to which it belongs.",
    ]


def test_folds_may_be_lists_of_cases(luna16: Path, tmp_path: Path, capsys) -> None:
    lists = []
    for name, cases in (("fold0", "s1\ns2\n"), ("fold1", "s3\ns4\n")):
        path = tmp_path / f"{name}.csv"
        path.write_text(cases)
        lists.append(path)
    assert run("folds", "check", *lists, "--reference", luna16) == 0
    assert "fold1      2" in capsys.readouterr().out
    lists[1].write_text("s2\ns3\ns4\n")
    assert run("folds", "check", *lists, "--reference", luna16) == 1
    assert "case 's2': is tested in folds fold0, fold1." in capsys.readouterr().err


def test_a_patient_in_two_folds_is_reported(luna16: Path, tmp_path: Path, capsys) -> None:
    path = folds(tmp_path, "s1,0", "s2,0", "s3,1", "s4,1")
    cases = write(tmp_path, "cases", "s1,a", "s2,b", "s3,a", "s4,c", header="case_id,patient_id\n")
    assert run("folds", "check", path, "--reference", luna16, "--cases", cases) == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: case 's1': is tested in fold 0, which was trained on it or on its patient. Keep "
        "all cases of a patient in one fold.",
        "error: case 's3': is tested in fold 1, which was trained on it or on its patient. Keep "
        "all cases of a patient in one fold.",
    ]


def test_a_case_that_its_fold_trained_on_is_reported(luna16: Path, tmp_path: Path, capsys) -> None:
    header = "seriesuid,fold,part\n"
    good = ("s1,0,test", "s2,0,test", "s3,1,test", "s4,1,test", "s3,0,train", "s1,1,train")
    path = folds(tmp_path, *good, header=header)
    assert run("folds", "check", path, "--reference", luna16) == 0
    path = folds(tmp_path, *good, "s2,0,train", header=header)
    assert run("folds", "check", path, "--reference", luna16) == 1
    assert "case 's2': is tested in fold 0, which was trained on it" in capsys.readouterr().err


def test_a_table_without_folds_is_refused(luna16: Path, tmp_path: Path, capsys) -> None:
    path = write(tmp_path, "folds", "s1,0", header="seriesuid,part\n")
    assert run("folds", "check", path, "--reference", luna16) == 1
    assert "folds.csv: has no column 'fold'. Give a table with seriesuid and fold" in (
        capsys.readouterr().err
    )


def test_the_folds_of_luna16_test_every_scan_once(luna16_data: Path, capsys) -> None:
    assert run("folds", "check", luna16_data / "folds.csv", "--reference", luna16_data) == 0
    assert "every one of 888 cases is tested once, in 10 folds" in capsys.readouterr().out
