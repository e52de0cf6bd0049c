"""nodulebench report: the same page from only the folder, and copies for others."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from builders.made_up import write_made_up_result
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.evaluation.report import (
    ReportChoice,
    read_causes,
    with_causes,
    write_report,
)
from nodulebench.evaluation.verify import verify_folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report") / "out"
    write_made_up_result(folder, cases=12, nodules=60)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    import shutil

    return Path(shutil.copytree(made, tmp_path / "out"))


def test_page_is_the_one_that_evaluate_wrote(folder: Path) -> None:
    before = (folder / "report.html").read_text(encoding="utf-8")
    written = write_report(folder)
    assert folder / "report.html" in written
    assert (folder / "report.html").read_text(encoding="utf-8") == before


def test_tables_are_written_as_csv(folder: Path) -> None:
    write_report(folder)
    metrics = pl.read_csv(folder / "tables" / "metrics.csv")
    document = json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))
    recall = document["algorithms"][0]["rules"]["center_hit"]["metrics"]["recall"]
    rows = metrics.filter(algorithm="careful", rule="center_hit", metric="recall")
    assert rows["value"].to_list() == [recall["value"]]
    assert {path.name for path in (folder / "tables").iterdir()} == {
        "counts.csv",
        "metrics.csv",
        "flips.csv",
        "misses_by_type_and_size.csv",
        "rule_differences.csv",
        "strata.csv",
    }


@pytest.mark.slow
def test_folder_stays_verified(folder: Path) -> None:
    write_report(folder, ReportChoice(language="zh"))
    assert verify_folder(folder).is_good


def test_copies_have_their_own_names(folder: Path, tmp_path: Path) -> None:
    choice = ReportChoice(audience="developer", language="zh", algorithm="small boxes")
    written = write_report(folder, choice, tmp_path / "send")
    assert written[0].name == "report-developer-small_boxes-zh.html"
    assert {path.parent.name for path in written[1:]} == {"tables-developer-small_boxes"}
    page = written[0].read_text(encoding="utf-8")
    assert "small boxes" in page
    assert "careful" not in page
    assert "case0" not in page


def test_copy_elsewhere_leaves_the_folder_as_it_was(folder: Path, tmp_path: Path) -> None:
    before = (folder / "manifest.json").read_bytes()
    write_report(folder, out=tmp_path / "send")
    assert (folder / "manifest.json").read_bytes() == before
    assert not (tmp_path / "send" / "manifest.json").exists()


def test_developers_tables_have_no_flips(folder: Path, tmp_path: Path) -> None:
    write_report(folder, ReportChoice(audience="developer"), tmp_path)
    names = {path.name for path in (tmp_path / "tables-developer").iterdir()}
    assert "flips.csv" not in names
    assert "metrics.csv" in names
    text = "".join(path.read_text() for path in (tmp_path / "tables-developer").iterdir())
    assert "case0" not in text
    assert "threshold_at_fp_rate" not in text


def test_an_unknown_algorithm_lists_the_known_ones(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="no algorithm 'eagr'"):
        write_report(folder, ReportChoice(algorithm="eagr"))


@pytest.mark.parametrize("name", ["evaluation.json", "flips.parquet"])
def test_changed_folder_is_refused(folder: Path, name: str) -> None:
    if name.endswith("json"):
        document = json.loads((folder / name).read_text(encoding="utf-8"))
        document["algorithms"][0]["rules"]["center_hit"]["metrics"]["recall"]["value"] = 0.99
        (folder / name).write_text(json.dumps(document), encoding="utf-8")
    else:
        pl.read_parquet(folder / name).head(3).write_parquet(folder / name)
    with pytest.raises(InputError, match=rf"{name}: was changed after it was written. Evaluate"):
        write_report(folder)


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"evaluation\.json: does not exist"):
        write_report(tmp_path)


def test_causes_are_read_from_a_csv(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "causes.csv"
    path.write_text("case_id,algorithm,cause\nc1,eager, vessel \nc2,eager,\n", encoding="utf-8")
    assert read_causes(path).rows() == [("eager", "vessel")]
    write_report(folder, ReportChoice(causes=path))
    assert "Causes of false positives" in (folder / "report.html").read_text(encoding="utf-8")


def test_causes_of_single_marks_are_in_the_report(folder: Path, tmp_path: Path) -> None:
    falses = pl.read_csv(folder / "false_positives.csv", schema_overrides={"mark_id": pl.String})
    worst = falses.sort("rank").row(0, named=True)
    path = tmp_path / "causes.csv"
    rows = pl.DataFrame([{**worst, "cause": "spine"}, {**worst, "mark_id": "x", "cause": "scar"}])
    rows.select("algorithm", "case_id", "mark_id", "cause").write_csv(path)
    tied = with_causes(falses, read_causes(path), path)
    assert tied is not None
    assert tied.drop("cause").equals(falses)
    named = tied.filter(pl.col("cause").is_not_null())
    assert named.select("case_id", "mark_id", "cause").unique().rows() == [
        (worst["case_id"], worst["mark_id"], "spine")
    ]
    write_report(folder, ReportChoice(causes=path))
    page = (folder / "report.html").read_text(encoding="utf-8")
    table = page[page.index("False positives with the highest scores") :]
    assert "spine" in table[: table.index("</table>")]


def test_causes_that_contradict_or_belong_elsewhere_are_refused(
    folder: Path, tmp_path: Path
) -> None:
    falses = pl.read_csv(folder / "false_positives.csv")
    worst = falses.row(0, named=True)
    path = tmp_path / "causes.csv"
    two = pl.DataFrame([{**worst, "cause": cause} for cause in ("spine", "scar")])
    two.write_csv(path)
    with pytest.raises(InputError, match=rf"mark '{worst['mark_id']}' of .* two causes"):
        write_report(folder, ReportChoice(causes=path))
    two.with_columns(mark_id=pl.lit("x")).head(1).write_csv(path)
    with pytest.raises(InputError, match=r"does not name any mark of false_positives\.csv"):
        write_report(folder, ReportChoice(causes=path))


def test_causes_without_their_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "causes.csv"
    path.write_text("case,reason\na,b\n", encoding="utf-8")
    with pytest.raises(InputError, match="column 'algorithm' is missing"):
        read_causes(path)


def test_combinations_and_agreement_are_read_from_their_files(folder: Path, tmp_path: Path) -> None:
    combined, agreement = tmp_path / "combined.csv", tmp_path / "agreement.json"
    combined.write_text("members,cpm,best_single,difference\na,0.8,,\na+b,0.85,0.8,0.05\n")
    agreement.write_text('[{"name": "1 and 2", "value": 0.7, "low": 0.6, "high": 0.8}]')
    write_report(folder, ReportChoice(combinations=(combined,), agreement=agreement))
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Averaged scores: all combinations" in page
    assert "Agreement of the readers" in page


def test_scores_under_other_references_are_only_for_the_lab(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "spread.csv"
    path.write_text(
        "algorithm,metric,reference,nodules,hit,value\n"
        "Alpha,recall,agreement >= 1,4,2,0.5\nAlpha,recall,union,8,2,0.25\nAlpha,recall,none,0,0,\n"
    )
    choice = ReportChoice(spreads=(path,))
    write_report(folder, choice)
    page = (folder / "report.html").read_text()
    assert "of Alpha under other references" in page
    assert "From 0.250 to 0.500, depending on how the same readings" in page
    write_report(folder, replace(choice, audience="developer"))
    assert "under other references" not in (folder / "report-developer.html").read_text()
    path.write_text("algorithm,value\nAlpha,1\n")
    with pytest.raises(InputError, match=r"spread\.csv.*metric"):
        write_report(folder, choice)


def test_agreement_of_another_shape_is_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "agreement.json"
    path.write_text('{"kappa": 0.7}')
    with pytest.raises(InputError, match="is not a list of objects with name and value"):
        write_report(folder, ReportChoice(agreement=path))


@pytest.mark.slow
def test_pdf_is_written_on_demand(folder: Path) -> None:
    pytest.importorskip("typst", reason="typst (extra 'pdf') is not installed")
    written = write_report(folder, ReportChoice(is_pdf=True))
    assert folder / "report.pdf" in written
    assert (folder / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert verify_folder(folder).is_good
