"""A file that is written in another way is read, and that is told."""

from pathlib import Path

import pytest

from builders.words import sentences
from nodulebench import read_reference, read_submission
from nodulebench.io.table_files import read_cases

PLAIN = "seriesuid,coordX,coordY,coordZ,probability\na,1.5,-2.25,3,0.5\nb,4,5,6,0.25\n"
RESPELT = "mine.csv: columns with slightly different names were recognised: "


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PLAIN.replace(",", ";"), ("mine.csv was read with ';' between columns.",)),
        (PLAIN.replace(",", "\t"), ("mine.csv was read with tabs between columns.",)),
        (
            PLAIN.replace(",", ";").replace(".", ","),
            ("mine.csv was read with ';' between columns and a decimal comma.",),
        ),
        ("\ufeff" + PLAIN, ()),
        ("\ufeff" + PLAIN.replace(",", ";"), ("mine.csv was read with ';' between columns.",)),
        (PLAIN.replace("\n", "\r\n"), ()),
        (PLAIN.replace("seriesuid", "SeriesUID"), (f"{RESPELT}SeriesUID=seriesuid.",)),
        (
            PLAIN.replace("coordX", "Coord X").replace("coordY", "coord_y"),
            (f"{RESPELT}Coord X=coordX, coord_y=coordY.",),
        ),
        (
            PLAIN.replace("ty\n", "ty,colour\n").replace("5\n", "5,red\n"),
            ("mine.csv: unknown columns were not read: colour.",),
        ),
    ],
)
def test_the_same_marks_are_read_and_how_is_reported(
    tmp_path: Path, content: str, message: tuple[str, ...]
) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(PLAIN, encoding="utf-8")
    plain = read_submission(file)
    file.write_text(content, encoding="utf-8", newline="")
    submission = read_submission(file)
    assert submission.marks.equals(plain.marks)
    assert sentences(submission.notices) == message
    assert plain.notices == ()


def test_a_wrong_number_is_reported_with_its_line_there_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(PLAIN.replace(",", ";").replace("5;6", "left;6"))
    with pytest.raises(Exception, match=r"mine\.csv line 3: coordY 'left' is not a finite number"):
        read_submission(file)


def test_references_and_our_own_tables_are_read_so(tmp_path: Path) -> None:
    file = tmp_path / "truth.csv"
    file.write_text(
        "Case_ID;nodule_id;slice_index;z_mm;center_x_mm;center_y_mm;length_mm;width_mm\n"
        "a;n;3;1,5;10;20;4;4\n"
    )
    reference = read_reference(file)
    assert reference.nodules.select("case_id", "x_mm", "z_mm").rows() == [("a", 10.0, 1.5)]
    assert len(reference.notices) == 2
    cases = tmp_path / "cases.csv"
    cases.write_text("Case ID;spacing_x_mm;vendor\na;0,7;X\n")
    assert read_cases(cases).select("case_id", "spacing_x_mm", "vendor").rows() == [("a", 0.7, "X")]
