"""Patches: the lesion in the middle, the patient the right way round, true PNG files."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from builders.tables import case, false_mark, mark, nodule, protocol, reference, submission
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.patches import cross_hair, cut_patches, cut_views, png
from nodulebench.evaluation.recompute import load_evaluated
from nodulebench.evaluation.report import ReportChoice, write_report
from nodulebench.evaluation.result_folder import write_evaluation
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.images.case_images import NoImageError, image_reader
from nodulebench.io.images.metaimage import write_volume as write_metaimage

SPACING = (0.8, 0.8, 1.5)


def lung(*places_mm: tuple[float, float, float]) -> Volume:
    """Air with balls of soft tissue, 8 mm across, at these places."""
    hu = np.full((60, 120, 120), -900, dtype=np.int16)
    z, y, x = np.indices(hu.shape)
    for place in places_mm:
        apart = [axis * step - at for axis, step, at in zip((x, y, z), SPACING, place, strict=True)]
        hu[sum(entry**2 for entry in apart) < 16] = 50
    return make_volume(hu, spacing_mm=SPACING)


def decoded(content: bytes) -> np.ndarray:
    """The pixels of a grey PNG, read by its own rules."""
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    place, data, size = 8, b"", (0, 0)
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        kind = content[place + 4 : place + 8]
        body = content[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", content[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + body)
        if kind == b"IHDR":
            size = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            data += body
        place += 12 + length
    width, height = size
    lines = np.frombuffer(zlib.decompress(data), dtype=np.uint8).reshape(height, width + 1)
    assert (lines[:, 0] == 0).all()
    return lines[:, 1:]


def test_the_lesion_is_in_the_middle_of_every_view() -> None:
    center = np.array([48.0, 48.0, 45.0])
    for view in cut_views(lung((48.0, 48.0, 45.0)), center):
        assert view.shape == (100, 100)
        rows, columns = np.nonzero(view > 150)
        assert rows.mean() == pytest.approx(49.5, abs=1)
        assert columns.mean() == pytest.approx(49.5, abs=1)
        assert len(rows) == pytest.approx(np.pi * 8**2, rel=0.25)  # 8 mm across, 0.5 mm a pixel


@pytest.mark.parametrize(
    ("offset", "views"),
    [
        ((12.0, 0.0, 0.0), {0: "right", 1: "right"}),  # to the patient's left
        ((0.0, 12.0, 0.0), {0: "bottom", 2: "right"}),  # to the back
        ((0.0, 0.0, 12.0), {1: "top", 2: "top"}),  # to the head
    ],
)
def test_patient_is_shown_the_usual_way_round(offset, views) -> None:
    center = np.array([48.0, 48.0, 45.0])
    drawn = cut_views(lung(tuple(center + offset)), center)
    for number, side in views.items():
        rows, columns = np.nonzero(drawn[number] > 150)
        middle = {"right": columns.mean() - 49.5, "bottom": rows.mean() - 49.5}
        middle["top"] = -middle["bottom"]
        assert middle[side] == pytest.approx(24, abs=1.5)


def test_window_runs_from_air_to_bone_and_outside_is_black() -> None:
    axial, _, _ = cut_views(lung(), np.array([2.0, 2.0, 45.0]))
    assert axial[:40, :40].max() == 0  # beyond the image
    assert axial[60, 60] == round(100 / 1400 * 255)


def test_png_is_what_was_drawn() -> None:
    pixels = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert decoded(png(pixels)).tolist() == pixels.tolist()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    cases = (
        case("a", nodule(8, (48, 48, 45), type="solid"), mark(0.9, (48, 48, 45))),
        case("b", nodule(8, (30, 30, 45), type="solid"), nodule(6, (60, 60, 45), type="solid")),
        case("c", false_mark(0.4), false_mark(0.7)),
    )
    chosen = protocol(metrics=("recall",))
    evaluation = evaluate(reference(*cases), [submission(*cases, name="Alpha")], chosen)
    write_evaluation(evaluation, tmp_path / "out")
    return tmp_path / "out"


def test_every_miss_and_the_surest_false_positives_are_shown(folder) -> None:
    read = []

    def image(case_id: str) -> Volume:
        read.append(case_id)
        return lung((48.0, 48.0, 45.0))

    patches = cut_patches(load_evaluated(folder), "luna16", ["Alpha"], image)
    assert [(patch.kind, patch.case_id, patch.facts.get("score")) for patch in patches] == [
        ("missed", "b", None),
        ("missed", "b", None),
        ("false_positive", "c", 0.7),
        ("false_positive", "c", 0.4),
        ("hit", "a", 0.9),
    ]
    assert [patch.diameter_mm for patch in patches[:2]] == [8.0, 6.0]
    assert sorted(read) == ["a", "b", "c"]  # each image once


def test_cases_without_an_image_are_passed_over(folder) -> None:
    def image(case_id: str) -> Volume:
        if case_id != "a":
            raise NoImageError.at("archive", f"has no image of case '{case_id}'.")
        return lung()

    patches = cut_patches(load_evaluated(folder), "luna16", ["Alpha"], image)
    assert [(patch.kind, patch.case_id) for patch in patches] == [("hit", "a")]


def test_an_archive_without_any_image_is_refused(folder, tmp_path: Path) -> None:
    with pytest.raises(NoImageError, match="has no image of case 'b'"):
        cut_patches(load_evaluated(folder), "luna16", ["Alpha"], image_reader(tmp_path / "empty"))


def test_with_many_algorithms_each_has_its_share(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("nodulebench.evaluation.patches.MOST_MISSES", 4)
    monkeypatch.setattr("nodulebench.evaluation.patches.FEWEST", 1)
    cases = [case(f"c{number}", nodule(8 + number, (48, 48, 45))) for number in range(5)]
    submissions = [submission(*cases, name=name) for name in ("one", "two")]
    write_evaluation(evaluate(reference(*cases), submissions, protocol()), tmp_path / "out")
    patches = cut_patches(
        load_evaluated(tmp_path / "out"), "luna16", ["one", "two"], lambda _: lung()
    )
    assert [(patch.algorithm, patch.diameter_mm) for patch in patches] == [
        ("one", 12.0),
        ("one", 11.0),
        ("two", 12.0),
        ("two", 11.0),
    ]


def test_cross_hair_points_to_the_middle_and_is_seen_on_black_and_white() -> None:
    for grey, line in ((0, 255), (255, 0)):
        drawn = cross_hair(np.full((100, 100), grey, dtype=np.uint8))
        rows, columns = np.nonzero(drawn == line)
        assert (rows.mean(), columns.mean()) == (49.5, 49.5)
        assert (drawn[20:80, 20:80] == grey).all()
        assert (drawn == drawn.T).all()


def test_report_has_the_gallery_with_what_is_known_of_each(folder, tmp_path: Path) -> None:
    images = tmp_path / "archive" / "subset0"
    images.mkdir(parents=True)
    for name in ("a", "b", "c"):
        write_metaimage(lung((48.0, 48.0, 45.0)), images / f"{name}.mhd")
    write_report(folder, ReportChoice(images=tmp_path / "archive"), tmp_path / "lab")
    page = (tmp_path / "lab" / "report.html").read_text(encoding="utf-8")
    for shown in (
        "Alpha: nodules missed",
        "At 30.0, 30.0, 45.0 mm",
        "Lowest score that finds it: not found",
    ):
        assert shown in page
    assert page.count("data:image/png;base64") == 3 * 5
    assert "Score 0.7" in page
    assert "no finding in the case" in page
    choice = ReportChoice(images=tmp_path / "archive", audience="developer")
    write_report(folder, choice, tmp_path / "developer")
    output = (tmp_path / "developer" / "report-developer.html").read_text(encoding="utf-8")
    assert "data:image/png" not in output
    assert "Alpha: nodules missed" not in output
