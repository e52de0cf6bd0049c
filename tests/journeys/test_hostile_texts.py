"""Names that others chose, full of commands to a terminal, through the real commands."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from builders.annotation import small_cases
from builders.identified_slice import identified_slice
from builders.people import write_key
from builders.tables import Slice, case, mark, nodule, reference, submission
from nodulebench.cli import main
from nodulebench.curation import pacs as receive
from nodulebench.io.marks.nifdc import write_marks, write_reference

CLEARING, CLIPBOARD, LINK = "\x1b[2J", "\x1b]52;c;ZXZpbA==\x07", "\x1b]8;;evil:\x1b\\"
ATTACK = f"a{CLEARING}{CLIPBOARD}\r\b\x9b8m\u202eb"
HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"
OBEYED = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u202e\u2066\u2028"} - {"\n", "\t"}
OutputOf = Callable[..., str]


@pytest.fixture
def output_of(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> OutputOf:
    """Run a command as on a terminal; its output, of which the terminal may obey nothing.

    Our own bold and colours are taken off standard output before.
    """

    def run(*arguments: object, status: int = 0) -> str:
        for stream in (sys.stdout, sys.stderr):
            monkeypatch.setattr(stream, "isatty", lambda: True)
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert (stopped.value.code or 0) == status, err
        for ours in (0, 1, 31, 32, 33):
            out = out.replace(f"\x1b[{ours}m", "")
        output = out + err.replace("\r\033[K", "")
        assert not OBEYED & set(output), repr(output)
        return output

    return run


@pytest.fixture
def luna16(tmp_path: Path) -> Path:
    folder = tmp_path / "luna16"
    folder.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (folder / "annotations.csv").write_text(columns + "s1,0,0,0,8\ns2,0,0,0,5\n")
    (folder / "annotations_excluded.csv").write_text(columns)
    (folder / "seriesuids.csv").write_text("s1\ns2\n")
    return folder


@pytest.fixture
def marks(tmp_path: Path) -> Path:
    path = tmp_path / f"{ATTACK}.csv"
    path.write_text(HEADER + "s1,0,0,0,0.9\ns2,9,0,0,0.4\n")
    return path


def test_the_name_of_an_algorithm_from_check_to_verify(
    output_of: OutputOf, luna16: Path, marks: Path, tmp_path: Path
) -> None:
    other, out = tmp_path / "other.csv", tmp_path / f"out{CLIPBOARD}"
    other.write_text(HEADER + "s1,0,0,0,0.8\n")
    shown = r"a\x1b[2J\x1b]52;c;ZXZpbA==\x07\r\x08\x9b8m\u202eb"
    assert shown in output_of("check", marks, "--reference", luna16)
    evaluate = ("evaluate", marks, other, "--reference", luna16, "--bootstraps", 20)
    assert shown in output_of(*evaluate, "--out", out)
    assert r"\x1b]52" in output_of(*evaluate, "--out", out, status=1)  # it holds another result
    assert shown in output_of(
        "compare", out, "--baseline", "other", "--bootstraps", 20, "--permutations", 20
    )
    assert r"paper\x1b[2J" in output_of("report", out, "--out", tmp_path / f"paper{CLEARING}")
    (out / "curve.parquet").unlink(missing_ok=True)
    (out / "misses.csv").unlink(missing_ok=True)
    assert r"\x1b]52" in output_of("verify", out, status=1)


@pytest.mark.parametrize(
    "content",
    [f"{HEADER}{ATTACK},0,0,0,0.9\n", f"{HEADER}s1,{ATTACK},0,0,0.9\n", f"s,{ATTACK}\n1,2\n"],
    ids=["case", "number", "header"],
)
def test_the_text_of_a_refused_file_is_escaped(
    content: str, output_of: OutputOf, luna16: Path, tmp_path: Path
) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(content.replace("\r", ""))
    assert r"\u202e" in output_of("check", path, "--reference", luna16, status=1)
    output = output_of("evaluate", path, "--reference", luna16, "--out", tmp_path / "out", status=1)
    assert r"\u202e" in output


def test_typed_words_are_escaped(output_of: OutputOf, tmp_path: Path) -> None:
    for words in ([ATTACK], ["evaluate", f"--{ATTACK}"], ["formats", ATTACK]):
        assert r"\x1b]52" in output_of(*words, status=1 if words[0] == "formats" else 2)
    assert r"\x9b8m" in output_of("audit", tmp_path / ATTACK, status=1)


def test_a_name_that_cannot_be_decoded(output_of: OutputOf, luna16: Path, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"a\xff\x1bc.csv")
    assert r"a\xff\x1bc.csv" in output_of("check", path, "--reference", luna16, status=1)


def test_the_name_of_a_reader(output_of: OutputOf, tmp_path: Path) -> None:
    box = Slice(3, 50, 50, 8, 8)
    write_reference(reference(case("a", nodule(8, (50, 50, 3), box))), tmp_path / "key.csv")
    answer = tmp_path / f"{ATTACK}.csv"
    write_marks(submission(case("a", mark(None, (50, 50, 3), box))), answer)
    exam = ("annotate", "exam", tmp_path / "key.csv", answer, "--sequences", 0)
    assert r"\x1b]52" in output_of(*exam)
    small_cases("a").write_csv(tmp_path / "cases.csv")
    roster = tmp_path / "roster.toml"
    roster.write_text(f"[[people]]\nperson_id = 'a'\nroles = [{json.dumps(ATTACK)}]\n")
    begin = ("annotate", "review", "start", "--roster", roster, "--cases", tmp_path / "cases.csv")
    assert r"\x1b]52" in output_of(*begin, tmp_path / "folder", status=1)


def test_the_name_of_a_plan(output_of: OutputOf, luna16: Path, tmp_path: Path) -> None:
    criteria, plan = tmp_path / "criteria.toml", tmp_path / "plan.json"
    criteria.write_text(
        f"name = {json.dumps(ATTACK + chr(0))}\n"
        '[[criteria]]\nmetric = "recall"\nrule = "luna16"\ncomparison = ">="\nlimit = 0.5\n'
    )
    freeze = ("test-plan", "freeze", "--criteria", criteria, "--reference", luna16, "--out", plan)
    assert r"\u202eb\x00" in output_of(*freeze)


def test_files_that_a_curation_meets(output_of: OutputOf, tmp_path: Path) -> None:
    archive = tmp_path / f"archive{LINK.replace('/', '')}"
    archive.mkdir()
    (archive / f"{ATTACK}.dcm").write_bytes(b"\0" * 128 + b"DICM" + ATTACK.encode())
    assert r"\x1b]8" in output_of("curate", archive, "--out", tmp_path / f"out{LINK}")


def test_a_traceback_and_the_colours_of_others(luna16: Path, tmp_path: Path) -> None:
    path = tmp_path / f"{ATTACK}\x1b[31m\x1b[8m.csv"
    command = ["evaluate", path, "--reference", luna16, "--out", tmp_path / "out", "--debug"]
    program = [sys.executable, "-m", "nodulebench", *map(str, command)]
    done = subprocess.run(program, capture_output=True, encoding="utf-8", check=False)
    output = done.stdout + done.stderr
    assert "Traceback" in output
    assert r"\x1b[31m\x1b[8m" in output
    assert not OBEYED & set(output), repr(output)


def test_a_name_adds_no_line_and_no_colour(
    output_of: OutputOf, luna16: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a\nwrote everything\x1b[32m.csv"
    path.write_text(HEADER + "s1,0,0,0,0.9\n")
    output = output_of("evaluate", path, "--reference", luna16, "--bootstraps", 5)
    assert "wrote everything" in output
    assert not any(line.startswith("wrote") for line in output.splitlines())
    assert r"a\nwrote everything\x1b[32m" in output


FORMULA = '=HYPERLINK("http://evil","see")'


class HostileServer:
    """A DICOMweb server that has one series, with names full of commands."""

    base_url = "http://127.0.0.1/dicom-web"

    def __init__(self, series_uid: str, objects: list[Any]) -> None:
        self.series_uid, self.objects = series_uid, objects

    def search_for_series(self, **_: Any) -> list[dict[str, Any]]:
        described = f"{FORMULA}{ATTACK}\nwrote all"
        attributes = {"0020000D": "1.2", "0020000E": self.series_uid, "0008103E": described}
        return [{tag: {"Value": [text]} for tag, text in attributes.items()}]

    def iter_series(self, *_: Any, **__: Any) -> Iterator[Any]:
        yield from self.objects


def hostile_slice(**more: Any) -> Any:
    """A slice whose texts are commands to a terminal and to a spreadsheet."""
    made = identified_slice(1)
    made.PatientID = made.PatientName = FORMULA
    made.SeriesDescription = made.InstitutionName = f"{FORMULA}{CLEARING}"
    for keyword, value in more.items():
        setattr(made, keyword, value)
    return made


@pytest.mark.filterwarnings("ignore::UserWarning")  # pydicom warns of such UIDs
def test_a_server_that_gives_hostile_series(
    output_of: OutputOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def served(series_uid: str, series: Any) -> None:
        server = HostileServer(series_uid, [series])
        monkeypatch.setattr(receive, "client_of", lambda *_: server)

    fetch, out = ("receive", "fetch", "http://127.0.0.1/dicom-web"), tmp_path / "in"
    served(ATTACK, hostile_slice(SeriesInstanceUID=ATTACK))
    for output in (output_of(*fetch, "--list"), output_of(*fetch, "--out", out, status=1)):
        assert r"\x1b]52;c;ZXZpbA==\x07" in output
        assert not any(line.startswith("wrote") for line in output.splitlines())
    assert not out.exists()
    whole = hostile_slice()
    served(str(whole.SeriesInstanceUID), whole)
    output_of(*fetch, "--out", out)
    keys = ("--key-table", tmp_path / "keys", "--key", write_key("Ada", tmp_path))
    output_of("deidentify", out, "--out", tmp_path / "clean", *keys, "--workers", 1)
    table = output_of("deidentify", "--show-keys", *keys)
    cells = [cell for row in csv.reader(table.splitlines()) for cell in row]
    assert any(cell.startswith(f"'{FORMULA}") for cell in cells)  # the patient's number, defused
    assert not any(cell.startswith(("=", "@", "+", "-")) for cell in cells)
