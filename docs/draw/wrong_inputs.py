"""Files with something wrong in them -> the messages of the command line, as a table.

``python docs/draw/wrong_inputs.py`` writes the table of ``how-to/evaluate/check-a-submission.md``
again: every row is a set of files, a command, and the line that it gave.
"""

import contextlib
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nodulebench.cli import main

PAGE = Path(__file__).parents[1] / "how-to" / "evaluate" / "check-a-submission.md"
HEAD = "| problem | command | message |\n| --- | --- | --- |\n"
LUNA16 = "seriesuid,coordX,coordY,coordZ,probability\n"
NIFDC = "case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
EVALUATE = "evaluate mine.csv --reference luna16 --bootstraps 0"
WITH_CASES = f"{EVALUATE} --cases cases.csv"

Place = tuple[float, float, float]
PLACES: list[Place] = [
    (-90.5 + 13 * number, 61.25 - 11 * number, -210.0 + 7.5 * number) for number in range(12)
]
"""Where the nodule of each of twelve scans is."""
ORIGIN, SPACING, SLICES = (-160.0, -150.0, -300.0), (0.7, 0.7, 1.25), 220


def scan(number: int) -> str:
    """The name of a scan."""
    return f"scan-{number + 1:02}"


def marks(
    move: Callable[[Place], Place] = lambda at: at,
    name: Callable[[int], str] = scan,
    *,
    score: float = 0.9,
    numbers: Iterable[int] = range(12),
) -> str:
    """A mark on each nodule and one on nothing, after something went wrong with them."""
    rows = []
    for number in numbers:
        for at, one in ((PLACES[number], score), ((80.5, 90.25, -250.75), 0.5)):
            x, y, z = (round(value, 3) for value in move(at))
            rows.append(f"{name(number)},{x},{y},{z},{one}\n")
    return LUNA16 + "".join(rows)


def voxels(at: Place) -> Place:
    """A place as voxels, counted from the first."""
    x, y, z = ((a - o) / s for a, o, s in zip(at, ORIGIN, SPACING, strict=True))
    return x, y, z


def flipped(at: Place) -> Place:
    """A place with its slice counted from the other end."""
    return at[0], at[1], 2 * ORIGIN[2] + (SLICES - 1) * SPACING[2] - at[2]


def test_set() -> dict[str, str]:
    """What every row starts from: a small LUNA16 folder, and the geometry of its scans."""
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    nodules = "".join(f"{scan(n)},{x},{y},{z},9\n" for n, (x, y, z) in enumerate(PLACES))
    names = ("size_x", "size_y", "size_z", *(f"spacing_{axis}_mm" for axis in "xyz"))
    header = ",".join(("case_id", *names, *(f"origin_{axis}_mm" for axis in "xyz")))
    grid = ",".join(str(value) for value in (460, 430, SLICES, *SPACING, *ORIGIN))
    return {
        "luna16/annotations.csv": columns + nodules,
        "luna16/annotations_excluded.csv": columns,
        "luna16/seriesuids.csv": "".join(f"{scan(number)}\n" for number in range(12)),
        "cases.csv": f"{header}\n" + "".join(f"{scan(number)},{grid}\n" for number in range(12)),
        "strict.toml": 'name = "strict"\nmetrics = ["recall"]\n[[rules]]\nname = "luna16"\n',
        "set/cases.csv": "case_id,patient_id\nscan-01,P1\nscan-02,P2\n",
        "set/nodules.csv": NIFDC + "scan-01,n,10,12.5,1,1,5,5\n",
    }


@dataclass(frozen=True)
class WrongInput:
    """A problem, the files that have it, and the command that reports it."""

    what: str
    files: Mapping[str, str | bytes]
    command: str = EVALUATE


def mine(what: str, content: str | bytes, command: str = EVALUATE) -> WrongInput:
    """Something wrong in the file of marks."""
    return WrongInput(what, {"mine.csv": content}, command)


GOOD = marks()
WRONG: tuple[WrongInput, ...] = (
    mine("marks of one fold, scored on all scans", marks(numbers=range(3))),
    mine("rows given twice", GOOD + GOOD.split("\n", 1)[1]),
    mine("names with the ending of the image", marks(name=lambda n: f"ct/{scan(n)}.mhd")),
    mine("some names in capitals", GOOD.replace("scan-0", "SCAN-0")),
    mine("underscores instead of dashes", marks(name=lambda n: scan(n).replace("-", "_"))),
    mine("marks of another set", marks(name=lambda n: f"other{n}")),
    mine(
        "some marks of other cases, where the protocol allows none",
        GOOD + "other1,0,0,0,0.5\nother2,0,0,0,0.4\n",
        f"{EVALUATE} --protocol strict.toml",
    ),
    mine("a low score means a nodule", marks(score=0.1)),
    mine("marks outside the scan", GOOD + "scan-01,500,0,0,0.4\n", WITH_CASES),
    mine("RAS instead of LPS", marks(lambda at: (-at[0], -at[1], at[2]))),
    mine("slices counted from the other end", marks(flipped), WITH_CASES),
    mine("the sign of z", marks(lambda at: (at[0], at[1], -at[2]))),
    mine("z, y, x instead of x, y, z", marks(lambda at: (at[2], at[1], at[0]))),
    mine("centimetres", marks(lambda at: (at[0] / 10, at[1] / 10, at[2] / 10))),
    mine("voxels, and the geometry is known", marks(voxels), WITH_CASES),
    mine("voxels, and the geometry is not known", marks(voxels)),
    mine("semicolons between columns", GOOD.replace(",", ";")),
    mine("semicolons and decimal commas", GOOD.replace(",", ";").replace(".", ",")),
    mine("tabs between columns", GOOD.replace(",", "\t")),
    mine("another spelling of the columns", GOOD.replace("seriesuid,coordX", "SeriesUID,Coord_X")),
    mine("other column names", GOOD.replace(LUNA16, "scan,px,py,z,confidence\n")),
    mine("a column is missing", NIFDC.replace(",width_mm", "") + "scan-01,n,10,12.5,1,1,5\n"),
    mine("a missing column is named", GOOD, f"{EVALUATE} --columns case=scan,x=x,y=y,z=z"),
    mine("a word instead of a number", GOOD + "scan-01,left,0,0,0.5\n"),
    mine("a score that is not a number", GOOD + "scan-01,0,0,0,nan\n"),
    mine("the header once more", GOOD + LUNA16),
    mine("an empty file", ""),
    mine("an Excel workbook", b"PK\x03\x04 the rest"),
    mine("text in UTF-16", GOOD.encode("utf-16")),
    WrongInput(
        "slices counted from the head",
        {"truth.csv": NIFDC + "a,n,3,-100,1,1,5,5\na,n,4,-101.25,1,1,5,5\n", "mine.csv": GOOD},
        "evaluate mine.csv --reference truth.csv",
    ),
    WrongInput(
        "a table of cases that contradicts the test set",
        {"other.csv": "case_id,patient_id\nscan-01,P9\n", "mine.csv": GOOD},
        "evaluate mine.csv --reference set --cases other.csv",
    ),
    WrongInput(
        "the folder holds another result",
        {"mine.csv": GOOD, "result/evaluation.json": "{}"},
        f"{EVALUATE} --out result",
    ),
    WrongInput(
        "the same file twice",
        {"mine.csv": GOOD},
        "evaluate mine.csv mine.csv --reference luna16",
    ),
    WrongInput(
        "cases on which the algorithm failed",
        {"mine/marks.csv": GOOD, "mine/runs.csv": "case_id,state\nscan-01,ok\nscan-02,failed\n"},
        "evaluate mine --reference luna16 --bootstraps 0",
    ),
)


def run(wrong: WrongInput, folder: Path) -> tuple[int, list[str]]:
    """What the command line says of a wrong input: its exit status, and the lines on stderr."""
    for name, content in {**test_set(), **wrong.files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    status, messages = 0, io.StringIO()
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stderr(messages), contextlib.redirect_stdout(io.StringIO()):
            main(wrong.command.split())
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    finally:
        os.chdir(before)
    others = ("evaluating", "mine: 0 of 1", "warning: The test set is small")
    return status, [
        line for line in messages.getvalue().splitlines() if not line.startswith(others)
    ]


def row(wrong: WrongInput, lines: list[str]) -> str:
    """The table's row: the first two lines of the output; further lines repeat them."""
    shown = "<br>".join(line.replace("|", "\\|").replace("<", "&lt;") for line in lines[:2])
    command = wrong.command.removesuffix(" --bootstraps 0").replace(" --bootstraps 0", "")
    return f"| {wrong.what} | `{command}` | {shown} |\n"


def rows_of(page: str) -> list[str]:
    """The rows that a page shows."""
    _, _, rest = page.partition(HEAD)
    return [f"{line}\n" for line in rest.splitlines() if line.startswith("| ")]


def write_table() -> None:
    """Put the rows into the page."""
    rows = []
    for wrong in WRONG:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(row(wrong, run(wrong, Path(folder))[1]))
    page = PAGE.read_text(encoding="utf-8")
    before, head, rest = page.partition(HEAD)
    after = rest.splitlines(keepends=True)[len(rows_of(page)) :]
    PAGE.write_text(before + head + "".join(rows) + "".join(after), encoding="utf-8")


if __name__ == "__main__":
    write_table()
