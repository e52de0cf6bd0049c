"""Warnings that need images: on a made chest, and on a real scan of LIDC-IDRI."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from builders.annotation import drawn, reading, two_teams
from builders.places import TEST_DATA
from builders.real_scans import plain_scan
from builders.tables import Slice, case, mark, submission
from nodulebench.annotation.actions import NIFDC
from nodulebench.annotation.project import Project
from nodulebench.annotation.reading_warnings import warn_of
from nodulebench.cli import main
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.images.metaimage import write_volume
from nodulebench.io.json_files import write_json
from nodulebench.io.marks.nifdc import write_marks

ANNOTATIONS = TEST_DATA / "luna16" / "annotations.csv"
SPACING, SIZE = 3.0, (96, 80, 40)


def chest() -> Volume:
    """A block of tissue with two lungs, and in the right one a dense and a soft nodule.

    Voxels are 3 mm wide. The lungs hold x 60 to 117 and 171 to 228, y 60 to 177, z 15 to 102.
    """
    hu = np.full(SIZE[::-1], -1000, dtype=np.int16)
    hu[:, 5:75, 5:91] = 40
    for low in (20, 57):
        hu[5:35, 20:60, low : low + 20] = -850
    hu[15:18, 30:33, 28:31] = 400
    hu[15:18, 45:48, 28:31] = 60
    return make_volume(hu, spacing_mm=(SPACING,) * 3)


DENSE, SOFT, WALL = (88.0, 94.0), (88.0, 139.0), (240.0, 120.0)


def nodule_at(name: str, place: tuple[float, float], kind: str):
    return drawn(name, (15, *place, 8), (16, *place, 8), (17, *place, 8), type=kind)


def cases(**more) -> pl.DataFrame:
    row = {
        "case_id": "a",
        **{f"size_{axis}": size for axis, size in zip("xyz", SIZE, strict=True)},
        **{f"spacing_{axis}_mm": SPACING for axis in "xyz"},
        **{f"origin_{axis}_mm": 0.0 for axis in "xyz"},
    }
    return CASES.conform(pl.DataFrame([row | more]), "cases")


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    write_volume(chest(), folder / "a.mhd")
    return folder


def texts_of(reading_, images, table=None) -> list[tuple[str, str, str]]:
    warnings = warn_of([reading_], cases() if table is None else table, images)
    return [
        (warning.finding_id, warning.notice.code, in_english(warning.notice))
        for warning in warnings
    ]


def test_density_and_lungs_are_looked_at_in_the_image(images: Path) -> None:
    drawing = reading(
        "r1",
        "a",
        nodule_at("dense", DENSE, "calcified"),
        nodule_at("soft", SOFT, "calcified"),
        nodule_at("wall", WALL, "solid"),
    )
    assert texts_of(drawing, images) == [
        ("soft", "calcified_density", "called calcified, but its mean is 60 HU, not above 100"),
        ("wall", "outside_lung", "100% of it is outside the lungs"),
    ]
    assert texts_of(drawing, None) == []


def test_a_pleural_nodule_may_lie_at_the_lungs_but_not_far_from_them(images: Path) -> None:
    # the lungs end at x = 228.5; with their slack of 10 mm about 238
    assert texts_of(reading("r1", "a", nodule_at("near", (233.0, 120.0), "pleural")), images) == []
    assert [
        kind
        for _, kind, _ in texts_of(
            reading(
                "r1",
                "a",
                nodule_at("near", (233.0, 120.0), "solid"),
                nodule_at("far", (255.0, 120.0), "pleural"),
            ),
            images,
        )
    ] == ["outside_lung"] * 2


def test_an_image_stored_from_the_head_is_read_the_same_way(tmp_path: Path) -> None:
    volume = chest()
    turned = make_volume(
        volume.hu[::-1],
        spacing_mm=(SPACING,) * 3,
        origin_mm=(0.0, 0.0, SPACING * (SIZE[2] - 1)),
        direction=np.diag([1.0, 1.0, -1.0]),
    )
    write_volume(turned, tmp_path / "a.mha")
    drawing = reading("r1", "a", nodule_at("soft", SOFT, "calcified"))
    assert [kind for _, kind, _ in texts_of(drawing, tmp_path)] == ["calcified_density"]


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            {"spacing_z_mm": 2.5},
            "image of case 'a': has 96 x 80 x 40 voxels of 3 x 3 x 3 mm around (142.5, 118.5, "
            "58.5); the table of cases has 96 x 80 x 40 voxels of 3 x 3 x 2.5 mm around "
            "(142.5, 118.5, 48.8). Check whether it is the image of another series.",
        ),
        ({"size_z": 41}, "the table of cases has 96 x 80 x 41 voxels"),
        ({"origin_x_mm": -40.0}, "around (102.5, 118.5, 58.5)"),
        ({"size_x": None, "spacing_x_mm": 2.0}, "the table of cases has voxels of 2 x 3 x 3 mm."),
    ],
)
def test_the_image_of_another_series_is_refused(images: Path, change, what: str) -> None:
    drawing = reading("r1", "a", nodule_at("soft", SOFT, "calcified"))
    with pytest.raises(InputError) as refused:
        warn_of([drawing], cases(**change), images)
    assert what in str(refused.value)


def test_all_missing_images_and_scans_without_lungs_are_reported(images: Path) -> None:
    write_volume(replace(chest(), hu=np.full(SIZE[::-1], 40, dtype=np.int16)), images / "solid.mhd")
    table = pl.concat([cases(case_id=name) for name in ("solid", "gone", "empty")])
    drawing = [
        reading("r1", "solid", nodule_at("f", SOFT, "solid")),
        reading("r1", "gone", nodule_at("f", SOFT, "solid")),
        reading("r1", "empty"),  # nothing drawn: no image needed
    ]
    with pytest.raises(InputError) as refused:
        warn_of(drawing, table, images)
    first, second = str(refused.value).splitlines()
    assert first.startswith("image of case 'solid': shows no lung")
    assert second.startswith(f"{images}: has no image of case 'gone'.")


def test_without_a_table_the_image_says_where_pixels_are(images: Path) -> None:
    table = CASES.arrange(pl.DataFrame({"case_id": ["a"]}))
    drawing = reading("r1", "a", nodule_at("soft", SOFT, "calcified"))
    assert [kind for _, kind, _ in texts_of(drawing, images, table)] == ["calcified_density"]


def test_the_reviewer_sees_warnings_by_the_given_types(
    tmp_path: Path, images: Path, capsys
) -> None:
    handle = tmp_path / "handle"
    handle.mkdir()
    cases().write_csv(handle / "cases.csv")
    project = Project(roster=two_teams(), rules=NIFDC)
    write_json(project.model_dump(mode="json"), handle / "project.json")
    run("open", handle, "b1", "a", "--team", "one", "--by", "office")
    header = "case_id,nodule_id,slice_index,center_x_mm,center_y_mm,length_mm,width_mm"
    rows = [f"a,m0,{number},{SOFT[0]},{SOFT[1]},8,8" for number in (15, 16, 17)]
    (tmp_path / "read.csv").write_text("\n".join([header, *rows]) + "\n")
    for reader in ("r1", "r2", "r3"):
        assert run("read", handle, "b1", tmp_path / "read.csv", "--by", reader) == 0
    capsys.readouterr()
    assert run("warnings", handle, "b1", "--images", images) == 1
    blind = "batch 'b1': is in the state 'typing'; its readings are blind until the review."
    assert blind in capsys.readouterr().err
    run("type", handle, "b1", "a", "candidate-1", "calcified", "--by", "r2")
    capsys.readouterr()
    assert run("warnings", handle, "b1", "--images", images) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a r2 m0: called calcified, but its mean is 60 HU, not above 100",
        "1 warning",
    ]


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", "review", *(str(argument) for argument in arguments)])
    return int(stopped.value.code or 0)


@pytest.mark.slow
@pytest.mark.skipif(
    not ANNOTATIONS.is_file(), reason=f"no {ANNOTATIONS}; set NODULEBENCH_TEST_DATA"
)
def test_a_real_scan_tells_a_soft_nodule_called_calcified_and_a_mark_in_the_mediastinum(
    tmp_path: Path, tmp_path_factory, capsys
) -> None:
    # LIDC-IDRI-0407: of LUNA16's nodules the one at x = -90 mm is calcified (readers outlined 277
    # to 990 HU), the largest, 12 mm, is not (-105 to 22 HU; 12 in this box by SimpleITK)
    series = "1.3.6.1.4.1.14519.5.2.1.6279.6001.269075535958871753309238331179"
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / series).symlink_to(plain_scan(tmp_path_factory, "LIDC-IDRI-0407"))
    nodules = pl.read_csv(ANNOTATIONS).filter(pl.col("seriesuid") == series)
    rows = nodules.sort("coordX").select("coordX", "coordY", "coordZ", "diameter_mm").rows()
    calcified, soft, mediastinum = rows[0], rows[-1], (20.0, -200.0, 800.0, 12.0)
    marks = [
        mark(None, place[:3], *boxes_around(*place), type=kind)
        for place, kind in ((calcified, "calcified"), (soft, "calcified"), (mediastinum, "solid"))
    ]
    for reader in ("r1", "r2"):
        write_marks(submission(case(series, *marks)), tmp_path / f"{reader}.csv")
    files = [str(tmp_path / name) for name in ("r1.csv", "r2.csv")]
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", "consistency", *files, "--images", str(tmp_path / "images")])
    assert not stopped.value.code
    lines = capsys.readouterr().err.splitlines()
    warned = [line for line in lines if line.startswith("warning: ")]
    messages = [line.removeprefix(f"warning: {series} ") for line in warned]
    assert [
        line.split(" HU")[0].split(" of it")[0] for line in messages if line.startswith("r1")
    ] == [
        "r1 m1: called calcified, but its mean is 12",
        "r1 m2: 100%",
    ]
    assert len(messages) == 4  # the same of the second reader


def boxes_around(x: float, y: float, z: float, diameter: float) -> list[Slice]:
    """Boxes that lie within a nodule on three slices of LIDC-IDRI-0407."""
    middle = round((z - 694.9) / 1.8)
    side = 0.7 * diameter
    return [Slice(number, x, y, side, side) for number in range(middle - 1, middle + 2)]
