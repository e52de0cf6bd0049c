"""A site de-identifies what it sends, and the lab checks what it gets."""

from pathlib import Path

import pytest

from builders.identified_slice import identified_slice, write_slice
from builders.people import write_key
from nodulebench.cli import main

pytest.importorskip("cryptography")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in (1, 2):
        write_slice(identified_slice(number), tmp_path / "in" / f"{number}.dcm")
    write_key("Ada", tmp_path)
    write_key("Bo", tmp_path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


CLEAN = ["deidentify", "in", "--out", "out", "--key-table", "keys", "--workers", "1"]
CLEAN += ["--key", "ada.key"]


def test_slices_are_cleaned_and_pass_the_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("deidentify", "in", "--check") == 1
    shown = capsys.readouterr()
    assert "error: in/1.dcm: (0010,0010) PatientName is not a pseudonym." in shown.err
    assert "leftover" in shown.out
    assert run(*CLEAN, "--prefix", "SITE7") == 0
    out = capsys.readouterr().out
    assert "wrote       2 slices of 1 patients to out" in out
    assert "files/s" in out
    assert run("deidentify", "out", "--check") == 0
    assert capsys.readouterr().out.startswith("out: clean\nnot checked: smoothed text over")


def test_only_what_a_curation_admitted_is_cleaned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    curated = tmp_path / "curated"
    curated.mkdir()
    (curated / "case_files.csv").write_text("case_id,slice_index,file,frame\nuid,0,2.dcm,0\n")
    (curated / "curation.json").write_text(f'{{"folder": "{tmp_path / "in"}"}}')
    assert run("deidentify", "--curated", "curated", *CLEAN[2:]) == 0
    assert "wrote       1 slices of 1 patients to out" in capsys.readouterr().out
    assert run("deidentify", "elsewhere", "--curated", "curated", *CLEAN[2:]) == 1
    assert "2.dcm: no longer exists" in capsys.readouterr().err


def test_omitted_parts_are_named_and_change_the_exit_status(
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = identified_slice(3)
    data.BurnedInAnnotation = "YES"
    write_slice(data, Path("in/3.dcm"))
    write_slice(identified_slice(2), Path("in/copy.dcm"))
    assert run(*CLEAN) == 1
    shown = capsys.readouterr()
    assert "left out: in/3.dcm: its header states that text is burned in" in shown.err
    assert "left out    1: its header states that text is burned in" in shown.out
    assert "repeated    1 file of the same instance" in shown.out


def test_the_key_table_is_shown_to_who_can_open_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*CLEAN, "--prefix", "SITE7") == 0
    capsys.readouterr()
    show = ("deidentify", "--show-keys", "--key-table", "keys", "--key")
    assert run(*show, "ada.key") == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head == "patient,issuer,pseudonym,days,study,new_study,series,new_series"
    assert row.split(",")[0] == str(identified_slice(1).PatientID)
    assert row.split(",")[2].startswith("SITE7")
    assert run(*show, "bo.key", "--colleague", "ada.key.pub") == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "Ask its writer to run deidentify with --colleague YOUR_PUBLIC_KEY" in shown.err
    assert str(identified_slice(1).PatientID) not in shown.err
    assert run(*CLEAN, "--prefix", "SITE7", "--colleague", "bo.key.pub") == 0
    capsys.readouterr()
    assert run(*show, "bo.key", "--colleague", "ada.key.pub") == 0
    assert capsys.readouterr().out.splitlines() == [head, row]
    assert run(*show, "bo.key") == 1
    assert "Give the writer's public key with --colleague" in capsys.readouterr().err
    assert run("deidentify", "--show-keys") == 2
    assert "give --key-table with --show-keys" in capsys.readouterr().err
    assert run("deidentify", "--show-keys", "--key-table", "none", *show[-1:], "ada.key") == 1
    assert "none: does not exist." in capsys.readouterr().err


def test_wrong_usage_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("deidentify", "in") == 2
    assert "give --out and --key-table, or --check" in capsys.readouterr().err
    assert run("deidentify", "--check") == 2
    assert "Missing argument 'FOLDER'" in capsys.readouterr().err


def test_what_is_claimed_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("deidentify", "--conformance") == 0
    first, *claims = capsys.readouterr().out.splitlines()
    assert first == "DICOM PS3.15 2026c, table E.1-1"
    claimed = [line.split()[1] for line in claims if line.startswith("claimed")]
    assert claimed == ["113100", "113105", "113107", "113108"]
    assert "not claimed 113101 Clean Pixel Data Option" in claims


HOSTILE = "Evil\x1b]0;owned\x07\x1b[2J\u202e"


@pytest.mark.filterwarnings("ignore:Invalid value for VR")
def test_no_slice_commands_the_terminal_or_a_spreadsheet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Header texts with control characters and formulas, in every element that is ever printed."""
    hostile = identified_slice(4, patient="=cmd|' /C calc'!A1")
    hostile.SpecificCharacterSet = "ISO_IR 192"
    for name in ("PatientName", "Manufacturer", "SoftwareVersions", "InstitutionName"):
        setattr(hostile, name, HOSTILE)
    hostile.SeriesInstanceUID = "1.2.3.4"
    write_slice(hostile, Path("in/4.dcm"))
    other = identified_slice(5)
    other.ImageType = ["DERIVED", "SECONDARY", "X"]
    other["ImageType"].value[2] = HOSTILE[:16]
    write_slice(other, Path("in/5.dcm"))
    broken = Path("in/\x1b[31mred.dcm")
    broken.write_bytes(b"no slice")
    assert run(*CLEAN) == 1
    shown = capsys.readouterr()
    assert run("deidentify", "in", "--check") == 1
    checked = capsys.readouterr()
    show = ("deidentify", "--show-keys", "--key-table", "keys", "--key", "ada.key")
    assert run(*show) == 0
    keys = capsys.readouterr().out
    for text in (shown.out, shown.err, checked.out, checked.err, keys):
        assert not set(text) & {"\x1b", "\x07", "\u202e"}
    assert "'=cmd" in keys
    assert Path("keys.quarantine.csv").read_text().count("\n") == 3
    for path in Path("out").rglob("*.dcm"):
        assert b"Evil" not in path.read_bytes()
