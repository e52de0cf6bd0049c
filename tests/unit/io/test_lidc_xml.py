import io
import tarfile
from pathlib import Path

import pytest

from builders.words import sentences
from nodulebench.core.errors import InputError
from nodulebench.io import lidc_xml
from nodulebench.io.lidc_readings import CHARACTERISTIC_TAGS
from nodulebench.io.lidc_xml import read_lidc_files

CHARACTERISTICS = "".join(
    f"<{tag}>{rating}</{tag}>" for rating, tag in enumerate(CHARACTERISTIC_TAGS[:5], start=1)
) + "".join(f"<{tag}>5</{tag}>" for tag in CHARACTERISTIC_TAGS[5:])


def points(*pixels: tuple[int, int]) -> str:
    return "".join(
        f"<edgeMap><xCoord>{x}</xCoord><yCoord>{y}</yCoord></edgeMap>" for x, y in pixels
    )


def roi(z: float | str, *pixels: tuple[int, int], inclusion: str = "TRUE") -> str:
    return (
        f"<roi><imageZposition>{z} </imageZposition><imageSOP_UID>1.2</imageSOP_UID>"
        f"<inclusion>{inclusion}</inclusion>{points(*pixels)}</roi>"
    )


def nodule(name: str, *rois: str, characteristics: str = "") -> str:
    rated = f"<characteristics>{characteristics}</characteristics>" if characteristics else ""
    whole = "".join(rois)
    return f"<unblindedReadNodule><noduleID>{name}</noduleID>{rated}{whole}</unblindedReadNodule>"


def non_nodule(name: str, z: float, x: int | str, y: int) -> str:
    return (
        f"<nonNodule><nonNoduleID>{name}</nonNoduleID><imageZposition>{z}</imageZposition>"
        f"<imageSOP_UID>1.2</imageSOP_UID><locus><xCoord>{x}</xCoord><yCoord>{y}</yCoord></locus>"
        "</nonNodule>"
    )


def message(*sessions: str, series: str = "1.2.3", root: str = "LidcReadMessage") -> str:
    read = "".join(
        f"<readingSession><servicingRadiologistID>anon</servicingRadiologistID>{marks}"
        "</readingSession>"
        for marks in sessions
    )
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="http://www.nih.gov">'
        f"<ResponseHeader><SeriesInstanceUid>{series}</SeriesInstanceUid>"
        f"<StudyInstanceUID>1.9</StudyInstanceUID></ResponseHeader>{read}</{root}>"
    )


SQUARE = ((2, 2), (3, 2), (4, 2), (4, 3), (4, 4), (3, 4), (2, 4), (2, 3))
GOOD = message(
    nodule("N1", roi(-10.5, *SQUARE), characteristics=CHARACTERISTICS)
    + nodule("N2", roi(-9, (7, 8)))
    + non_nodule("O1", -8.0, 1, 2),
    "",
)


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def problems_of(folder: Path) -> list[str]:
    return [str(problem) for problem in read_lidc_files(folder).problems]


def test_all_three_categories_are_read_in_file_order(tmp_path: Path) -> None:
    (reading,) = read_lidc_files(write(tmp_path, a=GOOD)).readings
    assert (reading.series, reading.study, reading.source) == ("1.2.3", "1.9", "a.xml")
    first, second = reading.sessions
    assert [(mark.source_id, mark.kind) for mark in first] == [
        ("N1", "nodule"),
        ("N2", "small_nodule"),
        ("O1", "non_nodule"),
    ]
    assert second == ()
    (outline,) = first[0].outlines
    assert list(zip(outline.x, outline.y, strict=True)) == list(SQUARE)
    assert (outline.z_mm, outline.is_hole) == (-10.5, False)
    assert first[0].characteristics == (1, 2, 3, 4, 5, 5, 5, 5, 5)
    assert first[1].characteristics == ()


def test_outlines_to_exclude_are_holes(tmp_path: Path) -> None:
    text = message(nodule("N", roi(0, *SQUARE), roi(0, (3, 3), inclusion="FALSE")))
    (reading,) = read_lidc_files(write(tmp_path, a=text)).readings
    assert [outline.is_hole for outline in reading.sessions[0][0].outlines] == [False, True]


def test_points_written_in_an_unusual_way_are_read_too(tmp_path: Path) -> None:
    spaced = points(*SQUARE).replace("<xCoord>3</xCoord>", "<xCoord> 3 </xCoord><!-- x -->")
    text = message(
        "<unblindedReadNodule><noduleID>N</noduleID><roi><imageZposition>0</imageZposition>"
        f"<inclusion>TRUE</inclusion>{spaced}</roi></unblindedReadNodule>"
    )
    (reading,) = read_lidc_files(write(tmp_path, a=text)).readings
    (outline,) = reading.sessions[0][0].outlines
    assert list(zip(outline.x, outline.y, strict=True)) == list(SQUARE)


def test_an_archive_a_folder_and_a_file_give_the_same(tmp_path: Path) -> None:
    folder = write(tmp_path / "set", sub__a=GOOD)
    archive = tmp_path / "set.tar.xz"
    with tarfile.open(archive, "w:xz") as tar:
        tar.add(folder, arcname=".")
    from_folder = read_lidc_files(folder).readings
    assert read_lidc_files(archive).readings == from_folder
    (single,) = read_lidc_files(folder / "sub" / "a.xml").readings
    assert single.sessions == from_folder[0].sessions


def test_chest_x_ray_reads_are_counted_and_passed_over(tmp_path: Path) -> None:
    files = read_lidc_files(
        write(tmp_path, a=GOOD, b=message("", root="IdriReadMessage", series="9"))
    )
    assert (len(files.readings), files.xray_count, files.file_count) == (1, 1, 2)
    assert sentences(files.notices) == ("1 reading of a chest X-ray was skipped.",)


def test_a_reading_given_twice_counts_once(tmp_path: Path) -> None:
    files = read_lidc_files(write(tmp_path, b=GOOD, a=GOOD))
    assert [reading.source for reading in files.readings] == ["a.xml"]
    assert sentences(files.notices) == (
        "1 file repeats the reading of a series; the reading counts once.",
    )
    assert not files.problems


def test_two_different_readings_of_one_series_are_a_problem(tmp_path: Path) -> None:
    assert problems_of(write(tmp_path, a=GOOD, b=message("", ""))) == [
        "b.xml: series '1.2.3' was read before with other marks, in a.xml. "
        "Leave only one of the two files."
    ]


def test_a_correction_counts_only_if_asked_for(tmp_path: Path) -> None:
    folder = write(tmp_path, x__a=GOOD, **{"161-resubmitted-correction": message("")})
    plain, corrected = (read_lidc_files(folder, applies_corrections=yes) for yes in (False, True))
    assert [len(reading.sessions) for reading in plain.readings] == [2]
    assert sentences(plain.notices)[-1].endswith("corrects series 1.2.3 and was not applied.")
    assert [len(reading.sessions) for reading in corrected.readings] == [1]
    assert sentences(corrected.notices)[-1].endswith("corrects series 1.2.3 and was applied.")


def test_a_malformed_file_does_not_stop_the_rest(tmp_path: Path) -> None:
    files = read_lidc_files(write(tmp_path, a=GOOD[:-20], b=GOOD, c="<a/>", d=""))
    assert [reading.source for reading in files.readings] == ["b.xml"]
    first, *others = (str(problem) for problem in files.problems)
    assert first.startswith("a.xml: is not well-formed XML: ")
    assert first.endswith("Fetch the file again.")
    assert others == [
        "c.xml: is a 'a', not a LidcReadMessage. Is it a file of LIDC-IDRI?",
        "d.xml: is empty or larger than 64 MB. Is it a reading?",
    ]


def test_entities_are_refused_before_anything_unfolds(tmp_path: Path) -> None:
    bomb = '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bbbb">]><a>&b;</a>'
    wide = GOOD.encode("utf-16")
    folder = write(tmp_path, a=bomb)
    (folder / "b.xml").write_bytes(wide)
    remedy = "Save it as UTF-8 without a DOCTYPE."
    what = "has a document type declaration or zero bytes, which no LIDC file has."
    assert problems_of(folder) == [f"a.xml: {what} {remedy}", f"b.xml: {what} {remedy}"]


def test_every_problem_of_a_file_is_reported(tmp_path: Path) -> None:
    text = message(
        nodule("N1", roi("high", *SQUARE), roi(0, inclusion="MAYBE"))
        + nodule("N2")
        + nodule("N3", roi(0, *SQUARE, inclusion="FALSE"), characteristics="<texture>9</texture>"),
        non_nodule("O1", 0, "x", 2) + "<nonNodule/>",
        series="",
    )
    assert problems_of(write(tmp_path, a=text)) == [
        "a.xml header: SeriesInstanceUid is missing.",
        "a.xml session 1 nodule 'N1': imageZposition 'high' is not a number.",
        "a.xml session 1 nodule 'N1': inclusion 'MAYBE' is neither TRUE nor FALSE.",
        "a.xml session 1 nodule 'N2': has no point.",
        "a.xml session 1 nodule 'N3': has only outlines to exclude.",
        "a.xml session 1 nodule 'N3': texture '9' is not a rating from 1 to 6.",
        "a.xml session 2 non-nodule 'O1': coordinate 'x' is not a pixel number.",
        "a.xml session 2: nonNoduleID is missing.",
        "a.xml session 2 non-nodule '': imageZposition is missing.",
        "a.xml session 2 non-nodule '': has 0 points; a non-nodule has one.",
    ]


def test_a_point_without_its_y_is_a_problem(tmp_path: Path) -> None:
    text = message(nodule("N", roi(0, *SQUARE) + "<roi><imageZposition>0</imageZposition></roi>"))
    broken = text.replace("<yCoord>3</yCoord></edgeMap>", "</edgeMap>", 1)
    assert problems_of(write(tmp_path, a=broken)) == [
        "a.xml session 1 nodule 'N': coordinate '' is not a pixel number."
    ]


def test_a_file_without_sessions_is_a_problem(tmp_path: Path) -> None:
    assert problems_of(write(tmp_path, a=message())) == ["a.xml: has no readingSession."]


def test_a_source_without_xml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no XML file"):
        read_lidc_files(tmp_path)
    other = tmp_path / "notes.txt"
    other.write_text("hello")
    with pytest.raises(InputError, match="neither a folder nor an XML file nor a readable tar"):
        read_lidc_files(other)


def test_a_member_too_large_to_be_a_reading_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lidc_xml, "MOST_BYTES", 1000)
    archive = tmp_path / "set.tar"
    with tarfile.open(archive, "w") as tar:
        for name, text in (("big.xml", GOOD + " " * 5000), ("good.xml", GOOD[:900])):
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    first, second = read_lidc_files(archive).problems
    assert str(first) == "big.xml: is empty or larger than 0 MB. Is it a reading?"
    assert second.what.startswith("is not well-formed XML")
