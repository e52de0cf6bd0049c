"""An exam on scans of the ball, with the key that a panel would give."""

from pathlib import Path

from builders.reading import BALL_MM
from nodulebench.web.viewer.exam import Exam, exam_of

COLUMNS = "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,contour\n"
PANEL = "panel-nodule-77"


def ball_exam(folder: Path, *empty: str) -> Exam:
    """An exam in which the first sequence holds the ball.

    Args:
        folder: where the key is written.
        empty: further sequences, without a nodule.
    """
    (folder / "key.csv").write_text(ball_key(*empty))
    return exam_of(folder / "key.csv")


def ball_key(*empty: str) -> str:
    """A key of the ball in sequence a, about as wide on its five middle slices as it is."""
    x, y, _ = BALL_MM.tolist()
    box = f"{x - 5.5} {y - 5.5};{x + 5.5} {y - 5.5};{x + 5.5} {y + 5.5};{x - 5.5} {y + 5.5}"
    rows = [
        f"a,{PANEL},{number},{-2.6 + 2 * number},{x},{y},11,11,{box}\n" for number in range(9, 14)
    ]
    return empty_key(*empty).replace(COLUMNS, COLUMNS + "".join(rows))


def empty_key(*cases: str) -> str:
    """A key without a nodule."""
    return COLUMNS + "".join(f"{case}{',' * 8}\n" for case in cases)
