"""After any submission the set is intact, and the next evaluation is admitted."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from builders.people import person_key
from builders.sealed import HEADER, SealedLab, make_lab
from nodulebench.cli import main
from nodulebench.custody import submissions as module
from nodulebench.custody.verify import read_audit, verify_sealed

pytest.importorskip("cryptography")
Captured = pytest.CaptureFixture[str]
MARK = "scan0,1,2,3,0.9\n"


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    lab = make_lab(tmp_path)
    lab.seal()
    return lab


def evaluate(lab: SealedLab, marks: Path, developer: str = "Example") -> int:
    """The exit status of the real command."""
    words = ["evaluate", str(marks), "--reference", str(lab.sealed)]
    words += ["--developer", developer, "--key", str(lab.key_file("Bo"))]
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--bootstraps", "20", "--out", str(lab.folder / "feedback"), "--force"])
    return int(stopped.value.code or 0)


def assert_unharmed(lab: SealedLab, evaluations: int) -> None:
    """The log is valid, counts the evaluations, and another developer can still be evaluated."""
    verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert verified.is_good, verified.problems
    assert not verified.notices
    assert sum(len(use.evaluations) for use in read_audit(lab.sealed).uses) == evaluations
    assert evaluate(lab, lab.marks("honest.csv", "scan0"), "Other") == 0


@pytest.mark.parametrize(
    "name",
    [
        "a\nb\x1b[2K\x7f\u2028\u202e.csv",
        "x" * 251 + ".csv",
        "\N{CJK UNIFIED IDEOGRAPH-4E2D}" * 83 + ".csv",
    ],
    ids=["controls", "long", "long in Chinese"],
)
def test_no_name_of_a_file_harms_the_set(lab: SealedLab, name: str, capsys: Captured) -> None:
    path = lab.folder / name
    path.write_text(HEADER + MARK)
    assert evaluate(lab, path) == 0
    head, metric, evaluation, *_ = capsys.readouterr().out.splitlines()
    assert head.isprintable()
    assert head.endswith(" on small")
    assert (metric.split()[0], evaluation) == ("luna16.recall", "evaluation 1 of 2")
    assert_unharmed(lab, evaluations=1)
    broken = lab.folder / name.replace(".csv", "2.csv")[-200:]
    broken.write_text(HEADER + "scan0,here,2,3,0.9\n")
    assert evaluate(lab, broken) == 1
    assert_unharmed(lab, evaluations=2)


@pytest.mark.parametrize("name", [b"caf\xe9.csv", b"\xff\xfe\x80.csv", b"\xed\xa0\x80.csv"])
def test_a_name_that_is_not_text_is_not_charged(
    lab: SealedLab, name: bytes, capsys: Captured
) -> None:
    path = lab.folder / os.fsdecode(name)
    path.write_text(HEADER + MARK)
    assert evaluate(lab, path) == 1
    error_output = capsys.readouterr().err
    assert error_output.endswith(".csv: has a name that is not UTF-8. Rename it.\n")
    assert_unharmed(lab, evaluations=0)


def test_no_name_within_a_folder_harms_the_set(lab: SealedLab) -> None:
    folder = lab.folder / "sent"
    folder.mkdir()
    (folder / "marks.csv").write_text(HEADER + MARK)
    (folder / os.fsdecode(b"notes\xff.txt")).write_text("hello")
    assert evaluate(lab, folder) == 0
    assert_unharmed(lab, evaluations=1)


def points(**more: object) -> bytes:
    point = {"name": "nodule", "point": [1, 2, 3], "probability": 0.9, **more}
    document = {"case_id": "scan0", "type": "Multiple points", "points": [point], **more}
    return json.dumps([{**document, "version": {"major": 1, "minor": 0}}]).encode()


BROKEN: dict[str, tuple[str, bytes]] = {
    "case of no text": ("a.json", points(case_id="scan\ud800")),
    "type of no text": ("a.json", points(type="\ud800")),
    "number that is a surrogate": ("a.json", points(probability="\udfff")),
    "key of no text": ("a.json", json.dumps({"\ud800": [{"\udc80": 1}]}).encode()),
    "text of no text": ("a.json", json.dumps("\ud800").encode()),
    "nested": ("a.json", b"[" * 100_000),
    "cut off": ("a.json", points()[:-20]),
    "zeros": ("a.csv", bytes(1000)),
    "empty": ("a.csv", b""),
    "columns of no text": ("a.csv", b"seriesuid,coordX,\xff\n"),
    "values of no text": ("a.csv", HEADER.encode() + b"scan0,\xff,2,3,0.9\n"),
    "no gzip": ("a.csv.gz", b"\x1f\x8b\x08\x00 no"),
    "no archive": ("a.xlsx", b"PK\x03\x04 no"),
    "no DICOM": ("a.dcm", bytes(128) + b"DICM\xff\xff\xff"),
    "no table": ("a.parquet", b"PAR1 no PAR1"),
    "number without end": ("a.json", points().replace(b"0.9", b"9" * 5000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", BROKEN)
def test_what_cannot_be_read_costs_no_evaluation(
    lab: SealedLab, what: str, capsys: Captured
) -> None:
    name, content = BROKEN[what]
    (lab.folder / name).write_bytes(content)
    assert evaluate(lab, lab.folder / name) == 1
    error_output = capsys.readouterr().err
    assert error_output.startswith("error: "), error_output
    assert "Traceback" not in error_output
    assert_unharmed(lab, evaluations=0)


@pytest.mark.parametrize(
    "manifest", [b'name = "\\ud800"\n', b'name = "\xff"\n', b"name = 1\n", b"\x00", b"[" * 5000]
)
def test_a_broken_manifest_costs_no_evaluation(
    lab: SealedLab, manifest: bytes, capsys: Captured
) -> None:
    folder = lab.folder / "sent"
    folder.mkdir()
    (folder / "marks.csv").write_text(HEADER + MARK)
    (folder / "algorithm.toml").write_bytes(manifest)
    assert evaluate(lab, folder) == 1
    assert "algorithm.toml" in capsys.readouterr().err
    assert_unharmed(lab, evaluations=0)


def raising(error: BaseException) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x\ud800\nmore"),
        MemoryError(),
        RecursionError("deep"),
        OSError(5, "Input/output error", "a.csv"),
        pl.exceptions.PanicException("index out of bounds"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_reader_that_breaks_down_costs_no_evaluation(
    lab: SealedLab, error: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    marks = lab.marks("mine.csv", "scan0")
    with monkeypatch.context() as patch:
        patch.setattr(module, "read_submission", raising(error))
        assert evaluate(lab, marks) == 1
    error_output = capsys.readouterr().err
    assert error_output.startswith(f"error: {marks}: cannot be read")
    assert "nodulebench check" in error_output
    assert_unharmed(lab, evaluations=0)


@pytest.mark.slow
@pytest.mark.parametrize("developer", [os.fsdecode(b"Caf\xe9"), "\ud800", "y" * 100_000])
def test_no_name_of_a_developer_harms_the_set_or_escapes_the_budget(
    lab: SealedLab, developer: str
) -> None:
    for number in range(2):
        marks = lab.marks(f"{number}.csv", *["scan0", "scan1"][:number])
        assert evaluate(lab, marks, developer) == 0
    assert evaluate(lab, lab.marks("third.csv", "scan3"), developer) == 1
    assert_unharmed(lab, evaluations=2)
