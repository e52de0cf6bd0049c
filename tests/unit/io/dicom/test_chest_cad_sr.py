"""Chest CAD reports of products: which findings are marks, where they are, and how certain."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.chest_cad import (
    DIAMETER,
    NODULE,
    cad_report,
    code,
    composite,
    dcm,
    finding,
    image_item,
    intent,
    item,
    number,
    place,
    save,
)
from builders.dicom import CHECKED, complaints, grid_of, world, write_series
from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.io.dicom.chest_cad_sr import read_marks
from nodulebench.io.dicom.series import Series
from nodulebench.io.dicom.volumes import images_of_cases
from nodulebench.io.formats import fitting, read_cases, read_submission

pytest.importorskip("pydicom")

MM = ("mm", "UCUM", "millimeter")
SQUARE = (18, 18, 24, 18, 24, 23, 18, 23, 18, 18)


def series_of(cases: pl.DataFrame) -> Series:
    (series,) = images_of_cases(cases).values()
    return series


def whole_nodule() -> Any:
    """A nodule on two images, 85 % certain, 8.5 mm."""
    return composite(
        number(dcm("certainty of feature"), 85),
        number(DIAMETER, 8.5, MM),
        finding(
            number(dcm("certainty"), 60),
            place("center", "POINT", [20.5, 20.5], 1),
            place("outline", "POLYLINE", SQUARE, 1),
        ),
        finding(
            number(dcm("certainty"), 70),
            place("center", "POINT", [22.5, 20.5], 2),
            place("outline", "CIRCLE", [22.5, 20.5, 25.5, 20.5], 2),
        ),
        name="N1",
    )


def full_report(cases: pl.DataFrame) -> Any:
    series = series_of(cases)
    image = image_item("SELECTED FROM", str(series.images[9].SOPInstanceUID))
    return cad_report(
        series,
        whole_nodule(),
        finding(
            number(dcm("certainty"), 30),
            place("center", "POINT", [30.5, 30.5], 3),
            shown=intent("hidden"),
        ),
        finding(
            number(dcm("certainty"), 40.5),
            place("center", "POINT", [33.5, 30.5], image),
            shown=intent("optional", 3),
        ),
        finding(place("center", "POINT", [1, 1], 1), value=dcm("non-lesion")),
        images=(4, 5, 6),
    )


def messages_of(report: Any, tmp_path: Path, cases: pl.DataFrame | None = None) -> list[str]:
    path = save(report, tmp_path / "reports" / "cad.dcm")
    with pytest.raises(InputError) as caught:
        read_submission(path, cases, "chest_cad_sr")
    return [str(problem) for problem in caught.value.problems]


@CHECKED
def test_the_report_of_these_tests_is_valid(
    axial: pl.DataFrame, tmp_path: Path, checker: str
) -> None:
    assert complaints(checker, save(full_report(axial), tmp_path / "cad.dcm")) == []


def test_a_composite_feature_is_one_mark_with_its_images(
    scanned: pl.DataFrame, tmp_path: Path
) -> None:
    path = save(full_report(scanned), tmp_path / "reports" / "cad.dcm")
    submission = read_submission(path, scanned)
    assert fitting(path, "marks").name == "chest_cad_sr"
    assert submission.name == "LungScout"
    assert submission.marks.select("mark_id", "score", "diameter_mm").rows() == [
        ("N1", pytest.approx(0.85), 8.5),
        ("LungScout-1", pytest.approx(0.405), None),
    ]
    # halfway between voxels (20, 20, 4) and (22, 20, 5)
    ends = [world(grid_of(scanned), [(i, 20)], k)[0] for i, k in ((20, 4), (22, 5))]
    middle = submission.marks.select("x_mm", "y_mm", "z_mm").row(0)
    assert middle == pytest.approx((ends[0] + ends[1]) / 2, abs=1e-4)
    assert submission.slices.select("mark_id", "slice_index").rows() == [("N1", 4), ("N1", 5)]


def test_places_in_millimetres_are_those_computed_by_hand(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    submission = read_submission(save(full_report(axial), tmp_path / "cad.dcm"), axial)
    # image 9, column 33.5 and row 30.5 from the corner: the centre of voxel (33, 30, 9)
    place_mm = (-164.66 + 33 * 0.7, -107.2 + 30 * 0.8, 694.9 + 9 * 1.8)
    assert submission.marks.select("x_mm", "y_mm", "z_mm").row(1) == pytest.approx(
        place_mm, abs=1e-5
    )
    box = submission.slices.select("center_x_mm", "center_y_mm", "length_mm", "width_mm").row(0)
    # columns 18 to 24 and rows 18 to 23 from the corner: voxels 18 to 23 and 18 to 22
    assert box == pytest.approx((-164.66 + 20.5 * 0.7, -107.2 + 20 * 0.8, 6 * 0.7, 5 * 0.8))


def test_what_a_user_never_sees_is_left_out_and_told(axial: pl.DataFrame, tmp_path: Path) -> None:
    path = save(full_report(axial), tmp_path / "cad.dcm")
    submission = read_submission(path, axial)
    assert submission.marks.height == 2
    assert sentences(submission.notices) == (
        "cad.dcm: findings other than nodules were skipped: 1 Non-lesion.",
        "1 finding that is not for presentation to a user was left out.",
        "1 finding whose presentation is optional was included.",
    )
    everything = read_marks(path, axial, includes_hidden=True)
    assert everything.marks["score"].to_list() == pytest.approx([0.85, 0.3, 0.405])
    _, hidden, *_ = sentences(everything.notices)
    assert hidden.endswith("not for presentation to a user was included.")


def test_hidden_parts_do_not_place_a_finding_that_is_shown(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    shown = finding(place("center", "POINT", [20.5, 20.5], 1))
    hidden = finding(place("center", "POINT", [40.5, 20.5], 2), shown=intent("hidden"))
    report = cad_report(series_of(axial), composite(shown, hidden), images=(4, 5))
    submission = read_submission(save(report, tmp_path / "cad.dcm"), axial)
    assert submission.marks["z_mm"].to_list() == pytest.approx([694.9 + 4 * 1.8])
    report = cad_report(series_of(axial), composite(hidden), images=(4, 5))
    submission = read_submission(save(report, tmp_path / "cad.dcm"), axial)
    assert submission.marks["z_mm"].to_list() == pytest.approx([694.9 + 5 * 1.8])


def test_without_any_certainty_operating_points_are_scores(
    axial: pl.DataFrame, tmp_path: Path
) -> None:
    findings = [
        finding(place("center", "POINT", [k, 9], 1), shown=intent("optional", k)) for k in (1, 4)
    ]
    path = save(cad_report(series_of(axial), *findings, images=(4,)), tmp_path / "cad.dcm")
    submission = read_submission(path, axial)
    assert submission.marks["score"].to_list() == [-1.0, -4.0]
    assert (
        "No finding has a certainty. The negative CAD operating points are used as scores."
        in sentences(submission.notices)
    )


def test_findings_without_certainty_have_no_score(axial: pl.DataFrame, tmp_path: Path) -> None:
    findings = [finding(place("center", "POINT", [k, 9], 1)) for k in (1, 4)]
    path = save(cad_report(series_of(axial), *findings, images=(4,)), tmp_path / "cad.dcm")
    submission = read_submission(path, axial)
    assert submission.marks["score"].to_list() == [None, None]
    assert sentences(submission.notices) == (
        "2 of 2 findings have no certainty and therefore no score.",
    )


def test_a_finding_named_twice_is_one_mark(axial: pl.DataFrame, tmp_path: Path) -> None:
    from pydicom import Dataset

    single = finding(place("center", "POINT", [20.5, 20.5], 1))
    again = Dataset()
    again.RelationshipType = "INFERRED FROM"
    again.ReferencedContentItemIdentifier = [1, 3, 1]
    report = cad_report(series_of(axial), single, composite(again), images=(4,))
    submission = read_submission(save(report, tmp_path / "cad.dcm"), axial)
    assert submission.marks.height == 1


def test_a_modifier_decides_what_an_opacity_is(axial: pl.DataFrame, tmp_path: Path) -> None:
    glass = ("112120", "DCM", "Ground glass opacity")
    tree_in_bud = ("112127", "DCM", "Tree-in-bud sign")
    findings = [
        finding(
            code("HAS CONCEPT MOD", dcm("finding modifier"), modifier),
            place("center", "POINT", [9, 9], 1),
            value=dcm("opacity"),
        )
        for modifier in (glass, tree_in_bud, NODULE)
    ]
    report = cad_report(series_of(axial), *findings, images=(4,))
    submission = read_submission(save(report, tmp_path / "cad.dcm"), axial)
    assert submission.marks["type"].to_list() == ["pure_ground_glass", None]
    assert sentences(submission.notices)[0].endswith("were skipped: 1 Abnormal opacity.")


def test_runs_tell_what_failed(axial: pl.DataFrame, tmp_path: Path) -> None:
    states = ("without findings", "nothing succeeded", "not all")
    seen = []
    for state in states:
        report = cad_report(series_of(axial), state=state)
        submission = read_submission(save(report, tmp_path / "cad.dcm"), axial)
        assert submission.marks.height == 0
        seen.append((submission.runs["state"].to_list(), sentences(submission.notices)))
    assert seen == [
        (["ok"], ()),
        (["failed"], ()),
        (["ok"], ("cad.dcm: some algorithms of the CAD system failed.",)),
    ]


def test_the_device_is_named_where_no_algorithm_is(axial: pl.DataFrame, tmp_path: Path) -> None:
    report = cad_report(series_of(axial), state="without findings")
    submission = read_submission(save(report, tmp_path / "cad.dcm"), axial)
    assert submission.name == "Example Medical LungScout Workstation"


def test_a_finding_without_geometry_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    report = cad_report(series_of(axial), finding(number(dcm("certainty"), 50)), images=(4,))
    assert messages_of(report, tmp_path, axial) == [
        "cad.dcm item 1.3.1: has no position: neither a centre nor an outline. Let the CAD system "
        "export the geometry of its findings."
    ]


def test_a_reference_that_leads_nowhere_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    single = finding(place("center", "POINT", [20.5, 20.5], 7))
    report = cad_report(series_of(axial), single, images=(4,))
    (problem,) = messages_of(report, tmp_path, axial)
    assert problem.endswith("refers to item 1.2.7, which does not exist.")


def test_images_of_another_series_are_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    write_series(tmp_path / "other", "other")
    problems = messages_of(full_report(axial), tmp_path, read_cases(tmp_path / "other"))
    assert len(problems) == 2
    assert f"of series {axial['case_id'][0]}, which was not found" in problems[0]


def test_another_title_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    report = full_report(axial)
    report.ConceptNameCodeSequence[0].CodeValue = "111036"
    assert messages_of(report, tmp_path, axial) == [
        "cad.dcm: is not a Chest CAD report (TID 4100): its title is DCM:111036. "
        "Is it the right file?"
    ]


def test_a_tree_too_deep_is_refused(axial: pl.DataFrame, tmp_path: Path) -> None:
    deep = finding(place("center", "POINT", [9, 9], 1))
    for _ in range(60):
        deep = item("CONTAINS", "CONTAINER", None, deep)
    report = cad_report(series_of(axial), deep, images=(4,))
    (problem,) = messages_of(report, tmp_path, axial)
    assert problem.endswith("is more than 50 levels deep.")


def test_a_tree_that_runs_in_circles_ends(axial: pl.DataFrame, tmp_path: Path) -> None:
    from pydicom import Dataset

    back = Dataset()
    back.RelationshipType = "INFERRED FROM"
    back.ReferencedContentItemIdentifier = [1, 3, 1]
    single = finding(place("center", "POINT", [20.5, 20.5], 1))
    report = cad_report(series_of(axial), composite(single, back), images=(4,))
    submission = read_submission(save(report, tmp_path / "cad.dcm"), axial)
    assert submission.marks.height == 1
