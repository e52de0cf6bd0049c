"""A study of readers by commands only: Van Dyke's ratings, as a table and as submissions."""

import json
import re
import shlex
from pathlib import Path

import polars as pl
import pytest

from builders.jafroc import wafroc_of_workbook
from nodulebench.cli import main
from nodulebench.i18n.translator import in_english


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def analyse(*arguments: object) -> int:
    return run("annotate", "observer", "analyse", *arguments)


@pytest.fixture(scope="module")
def ratings(oracle_data: Path) -> pl.DataFrame:
    return pl.read_csv(oracle_data / "vandyke.csv").select(
        treatment=pl.format("way {}", "modality"),
        reader_id=pl.format("reader {}", "reader"),
        case_id=pl.format("case {}", "case"),
        rating="rating",
        is_abnormal=pl.col("truth") == 1,
    )


@pytest.fixture
def path(ratings: pl.DataFrame, tmp_path: Path) -> Path:
    ratings.write_csv(tmp_path / "ratings.csv")
    return tmp_path / "ratings.csv"


def test_two_reading_modes_are_compared_and_a_larger_study_is_planned(
    path: Path, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "study.json"
    assert analyse(path, "--out", out) == 0
    output = capsys.readouterr().out
    assert "case_roc_area of 5 readers on 114 cases, jackknife covariance" in output
    assert "  way 0: mean 0.8970 (" in output
    # RJafroc and OR-DBM: F 4.4563 with 1 and 15.26 degrees of freedom
    assert "random readers, random cases: F 4.4563, df 1, 15.26, P 0.0517" in output
    assert "random readers, fixed cases: F 8.7040, df 1, 4, P 0.0420" in output
    assert "  way 0 - way 1: -0.0438 (-0.0880 to 0.0004)" in output
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["components"]["variance"] == pytest.approx(8.0229e-4, abs=5e-9)
    assert document["components"]["treatment_square"] == pytest.approx(4.79617e-3, abs=5e-9)
    assert document["tests"][1]["degrees_of_freedom"] == [1.0, None]
    assert len(document["readers"]) == 10
    assert in_english(document["readers"][0]["method"]) == "DeLong, normal"
    # the fifth reader's areas differ by 0.1002, as DeLong's test of the two ratings says
    assert "  reader 4, way 0 - way 1: -0.1002 (-0.1" in output
    pilot = re.findall(r"^as a pilot: (.*)$", output, re.MULTILINE)[0]
    assert run(*shlex.split(pilot), "--difference", 0.05, "--readers", 5) == 0
    pasted = capsys.readouterr().out
    assert "How many cases must 5 readers read" in pasted
    asked = ("plan", "readers", "--difference", 0.05, "--readers", 5, "--pilot")
    assert run(*asked, out) == 0
    assert capsys.readouterr().out == pasted
    assert run(*asked, out, "--variance", 0.1) == 2
    assert "give either --pilot or its numbers" in capsys.readouterr().err
    assert run(*asked[:-1]) == 2
    assert "Missing option '--pilot-cases'." in capsys.readouterr().err
    other = tmp_path / "other.json"
    other.write_text("[]")
    assert run(*asked, other) == 1
    assert "has no variance components of a reader study." in capsys.readouterr().err


def test_several_cases_of_a_patient_are_clustered(
    ratings: pl.DataFrame, tmp_path: Path, capsys
) -> None:
    path, out = tmp_path / "ratings.csv", tmp_path / "study.json"
    number = pl.col("case_id").str.extract(r"(\d+)").cast(pl.Int64)
    ratings.with_columns(patient_id=pl.format("patient {}", number // 2)).write_csv(path)
    assert analyse(path, "--out", out) == 0
    document = json.loads(out.read_text(encoding="utf-8"))
    assert in_english(document["readers"][0]["method"]) == "Obuchowski 1997 (clustered), normal"
    assert document["readers"][0]["value"] == pytest.approx(0.91964573)
    assert "F 4.4563" in capsys.readouterr().out


def test_delong_covariance_is_an_option(path: Path, capsys) -> None:
    assert analyse(path, "--covariance", "delong") == 0
    assert "DeLong covariance" in capsys.readouterr().out


def test_readers_are_compared_with_an_algorithm(
    ratings: pl.DataFrame, tmp_path: Path, capsys
) -> None:
    is_algorithm = (pl.col("reader_id") == "reader 4") & (pl.col("treatment") == "way 1")
    named = ratings.with_columns(
        reader_id=pl.when(is_algorithm).then(pl.lit("CAD")).otherwise("reader_id")
    ).filter(pl.col("reader_id") != "reader 4")
    named.write_csv(tmp_path / "ratings.csv")
    path, out = tmp_path / "ratings.csv", tmp_path / "study.json"
    assert analyse(path, "--algorithm", "CAD", "--out", out) == 0
    output = capsys.readouterr().out
    assert "case_roc_area of 4 readers" in output
    assert "way 0: mean reader - CAD (0.930): -0.0161 (" in output
    rows = json.loads(out.read_text(encoding="utf-8"))["against_algorithm"]
    assert [row["treatment"] for row in rows] == ["way 0", "way 1"]
    assert rows[1]["difference"]["value"] == pytest.approx(
        (0.94782609 + 0.90531401 + 0.92173913 + 0.99935588) / 4 - 0.92995169
    )


def test_an_evaluation_of_the_readers_marks_gives_the_same(
    ratings: pl.DataFrame, tmp_path: Path, capsys
) -> None:
    folder = tmp_path / "luna16"
    folder.mkdir()
    truth = ratings.select("case_id", "is_abnormal").unique(maintain_order=True)
    truth.select("case_id").write_csv(folder / "seriesuids.csv", include_header=False)
    at = {name: pl.lit(0.0) for name in ("coordX", "coordY", "coordZ")}
    nodules = truth.filter("is_abnormal").select(
        seriesuid="case_id", **at, diameter_mm=pl.lit(10.0)
    )
    nodules.write_csv(folder / "annotations.csv")
    nodules.clear().write_csv(folder / "annotations_excluded.csv")
    submissions, who = [], []
    for (treatment, reader), rows in ratings.group_by("treatment", "reader_id"):
        path = tmp_path / f"{treatment} {reader}.csv"
        rows.select(seriesuid="case_id", **at, probability="rating").write_csv(path)
        submissions.append(path)
        who.append((path.stem, treatment, reader))
    listed, result = tmp_path / "who.csv", tmp_path / "result"
    names = ["algorithm", "treatment", "reader_id"]
    pl.DataFrame(who, schema=names, orient="row").write_csv(listed)
    evaluated = run(
        *("evaluate", *submissions, "--reference", folder, "--bootstraps", 0, "--out", result)
    )
    assert evaluated == 0
    assert analyse(result, "--reader-table", listed) == 0
    assert "F 4.4563, df 1, 15.26, P 0.0517" in capsys.readouterr().out
    study, book = tmp_path / "study.json", tmp_path / "study.xlsx"
    area = ("--reader-table", listed, "--metric", "wafroc_area")
    assert analyse(result, *area, "--out", study) == 0
    assert "wafroc_area of 5 readers on 114 cases" in capsys.readouterr().out
    assert run("convert", result, book, "--to", "jafroc_xlsx", "--reader-table", listed) == 0
    assert "45 nodules of 114 cases, evaluation to jafroc_xlsx" in capsys.readouterr().out
    key = pl.read_csv(book.with_suffix(".key.csv"))
    number = {(row["kind"], row["name"]): str(row["number"]) for row in key.to_dicts()}
    for document in json.loads(study.read_text(encoding="utf-8"))["readers"]:
        who = number["modality", document["treatment"]], number["reader", document["reader_id"]]
        assert wafroc_of_workbook(book, *who) == pytest.approx(document["value"], abs=1e-12)
    compared = run(
        *("compare", result, "--baseline", "way 1 reader 4", "--metric", "case_roc_area"),
        *("--bootstraps", 10, "--permutations", 0, "--all"),
    )
    assert compared == 0
    assert "P DeLong" in capsys.readouterr().out
    comparison = json.loads((result / "comparison.json").read_text(encoding="utf-8"))
    tests = {row["algorithm"]: row["delong"] for row in comparison["differences"]}
    assert tests["way 0 reader 4"]["statistic"] == pytest.approx(-2.288, abs=5e-4)  # RJafroc
    assert tests["way 0 reader 4"]["p_value"] == pytest.approx(0.0222, abs=5e-5)
    assert analyse(result, "--reader-table", listed, "--metric", "sensitivity_at_fp_rate") == 1
    assert "has values at several points" in capsys.readouterr().err
    pl.DataFrame([("none", "a", "b")], schema=names, orient="row").write_csv(listed)
    assert analyse(result, "--reader-table", listed) == 1
    assert "names 'none', which has no result under the rule 'luna16'" in capsys.readouterr().err


def test_who_did_not_read_everything_is_named(ratings: pl.DataFrame, path: Path, capsys) -> None:
    assert analyse(path, "--metric", "cpm") == 1
    assert "holds ratings of cases" in capsys.readouterr().err
    assert analyse(path, "--algorithm", "reader 1") == 1
    assert "is an algorithm and has 2 readings" in capsys.readouterr().err
    ratings[1:].write_csv(path)
    assert analyse(path) == 1
    assert "has other cases, or another truth of them" in capsys.readouterr().err
    missing = (pl.col("reader_id") == "reader 1") & (pl.col("treatment") == "way 1")
    ratings.filter(~missing).write_csv(path)
    assert analyse(path) == 1
    assert "error: reader 'reader 1': did not read under 'way 1'." in capsys.readouterr().err


def test_a_single_reading_mode_has_a_mean_but_no_test(
    ratings: pl.DataFrame, path: Path, capsys
) -> None:
    ratings.filter(pl.col("treatment") == "way 0").write_csv(path)
    assert analyse(path) == 0
    output = capsys.readouterr().out
    assert "way 0: mean 0.8970 (" in output
    assert " F " not in output
