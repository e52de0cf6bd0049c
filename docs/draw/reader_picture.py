"""The table of ``explanation/readers-as-algorithms.md`` -> its picture, as reports draw plots.

``python docs/draw/reader_picture.py`` redraws ``docs/pictures/readers-as-algorithms.svg``. The
picture is made of the page's own table, so that the two cannot tell different stories.
"""

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from nodulebench.report.charts import HEIGHT, LEFT, TOP, WIDTH, plot
from nodulebench.report.pages.svg import Axis, Dot, label, nice_ticks, on_paper

PAGE = Path(__file__).parents[1] / "explanation" / "readers-as-algorithms.md"
PICTURE = Path(__file__).parents[1] / "pictures" / "readers-as-algorithms.svg"
HEAD = "| session | scans | reference | found | sensitivity | lone marks | per scan |"
X_AXIS = Axis("lone marks per scan", 0.1, 0.3, nice_ticks(0.1, 0.3))
Y_AXIS = Axis("sensitivity against the other three readers", 0.6, 0.9, nice_ticks(0.6, 0.9))

SPACE = 20
"""Height that a label needs, in pixels."""


@dataclass(frozen=True)
class Session:
    """One row of the table."""

    name: str
    scans: int
    reference: int
    found: int
    lone: int

    @property
    def sensitivity(self) -> float:
        """What share of the others' nodules it found."""
        return self.found / self.reference

    @property
    def lone_per_scan(self) -> float:
        """Marks of this reader only, per scan."""
        return self.lone / self.scans


def sessions(page: str) -> list[Session]:
    """The rows of the page's table."""
    _, _, rest = page.partition(HEAD)
    rows = []
    for line in rest.strip().splitlines()[1:]:
        if not line.startswith("|"):
            break
        name, scans, reference, hits, _, lone, _ = (
            cell.strip().replace(",", "") for cell in line.strip("|").split("|")
        )
        rows.append(Session(name, int(scans), int(reference), int(hits), int(lone)))
    return rows


def draw(rows: list[Session]) -> str:
    """One marker per session; shapes and names tell them apart without colour."""
    words = [
        f"{session.name}: {session.sensitivity:.3f} at {session.lone_per_scan:.3f}"
        for session in rows
    ]
    frame = str(plot(X_AXIS, Y_AXIS, [], "Sessions of LIDC-IDRI; " + "; ".join(words)))
    places = [
        (
            LEFT + WIDTH * X_AXIS.place(session.lone_per_scan),
            TOP + HEIGHT * (1 - Y_AXIS.place(session.sensitivity)),
        )
        for session in rows
    ]
    parts = []
    for number, (session, (x, y)) in enumerate(zip(rows, places, strict=True)):
        text = f"session {session.name}: {session.sensitivity:.3f} at {session.lone_per_scan:.3f}"
        # a neighbour on the right, about as high, leaves space on the left only
        is_left = any(other > x and abs(height - y) < SPACE for other, height in places)
        side, kind = (-10, "last axis") if is_left else (10, "first axis")
        parts.append(Dot(number).marker(x, y) + label(x + side, y + 4.5, text, kind))
    empty = '<g class="points"></g>'
    return on_paper(Markup(frame.replace(empty, f"<g>{''.join(parts)}</g>")))  # noqa: S704


if __name__ == "__main__":
    PICTURE.write_text(draw(sessions(PAGE.read_text(encoding="utf-8"))), encoding="utf-8")
