"""Folders are de-identified file by file, completed after an interruption, their keys sealed."""

import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pydicom
import pytest

from builders.identified_slice import PATIENT, ROOT, identified_slice, write_slice
from builders.people import person_key
from builders.worker_tasks import behave
from conftest import TEST_DATA
from nodulebench.cli.deidentify import command
from nodulebench.core.errors import InputError
from nodulebench.core.executor import IN_PROCESS, Executor, FailedTask, Progress, no_progress
from nodulebench.core.executors.local import LocalExecutor
from nodulebench.core.notices import Notice
from nodulebench.curation.deidentify import service as deidentify_files
from nodulebench.curation.deidentify.key_table import read_key_table
from nodulebench.curation.deidentify.service import (
    DeidentifyOptions,
    DeidentifyReport,
    Leftover,
    check_folder,
    deidentify_folder,
)
from nodulebench.i18n.translator import in_english
from nodulebench.security.keys import PrivateKey

pytest.importorskip("cryptography")
KEY = person_key("Ada")


@pytest.fixture
def incoming(tmp_path: Path) -> Path:
    for number in range(3):
        write_slice(identified_slice(number + 1), tmp_path / "in" / "Zacharias" / f"{number}.dcm")
    (tmp_path / "in" / "letter.txt").write_text("Dear Mr Zacharias")
    return tmp_path / "in"


def run(
    incoming: Path,
    *,
    key: PrivateKey = KEY,
    executor: Executor = IN_PROCESS,
    progress: Progress = no_progress,
) -> DeidentifyReport:
    folder = incoming.parent
    return deidentify_folder(
        DeidentifyOptions(folder=incoming, out=folder / "out", key_table=folder / "keys"),
        key,
        executor=executor,
        progress=progress,
    )


def test_one_bad_file_does_not_stop_the_rest(incoming: Path) -> None:
    made = run(incoming)
    assert (made.written, made.patients, made.repeated) == (3, 1, 0)
    assert [(Path(outcome.source).name, outcome.refused) for outcome in made.refused] == [
        ("letter.txt", Notice("not_dicom"))
    ]
    assert check_folder(incoming.parent / "out") == []


def test_the_key_table_says_who_is_who_to_those_with_the_key(incoming: Path) -> None:
    run(incoming)
    table = incoming.parent / "keys"
    row = read_key_table(table, KEY)[0]
    assert (row["patient"], row["series"]) == (PATIENT, f"{ROOT}2.20210317")
    slices = list((incoming.parent / "out").rglob("*.dcm"))
    data = pydicom.dcmread(slices[0])
    assert (row["pseudonym"], row["new_series"]) == (data.PatientID, data.SeriesInstanceUID)
    assert PATIENT.encode() not in table.read_bytes()
    with pytest.raises(InputError, match="does not open with this key"):
        read_key_table(table, person_key("Eve"))


def test_the_same_table_gives_the_same_pseudonyms_later(incoming: Path) -> None:
    run(incoming)
    first = sorted(path.name for path in (incoming.parent / "out").rglob("*.dcm"))
    write_slice(identified_slice(9, date="20220101"), incoming / "later.dcm")
    run(incoming)
    again = sorted(path.name for path in (incoming.parent / "out").rglob("*.dcm"))
    assert set(first) < set(again)
    rows = read_key_table(incoming.parent / "keys", KEY)
    assert len(rows) == 2
    assert rows[0]["pseudonym"] == rows[1]["pseudonym"]


def test_an_interrupted_run_is_completed_with_the_same_pseudonyms(incoming: Path) -> None:
    def stop(_what: str, done: int, _of: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(incoming, progress=stop)
    before = {path.name for path in (incoming.parent / "out").rglob("*.dcm")}
    assert before
    run(incoming)
    assert before <= {path.name for path in (incoming.parent / "out").rglob("*.dcm")}
    assert len(read_key_table(incoming.parent / "keys", KEY)) == 1


def test_two_processes_write_what_one_writes(incoming: Path, tmp_path: Path) -> None:
    run(incoming)
    out = tmp_path / "out"
    first = {path.name: path.read_bytes() for path in out.rglob("*.dcm")}
    for path in out.rglob("*.dcm"):
        path.unlink()
    run(incoming, executor=LocalExecutor(2))
    assert {path.name: path.read_bytes() for path in out.rglob("*.dcm")} == first


def test_a_changed_key_table_is_refused(incoming: Path) -> None:
    run(incoming)
    table = incoming.parent / "keys"
    table.write_bytes(table.read_bytes()[:-1])
    with pytest.raises(InputError, match="does not open with this key: its content was changed"):
        run(incoming)


def test_the_key_table_is_stored_elsewhere(incoming: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Store the key table elsewhere"):
        deidentify_folder(
            DeidentifyOptions(
                folder=incoming, out=tmp_path / "out", key_table=tmp_path / "out" / "keys"
            ),
            KEY,
        )
    with pytest.raises(InputError, match="is in the folder of the originals"):
        deidentify_folder(
            DeidentifyOptions(folder=incoming, out=incoming / "out", key_table=tmp_path / "keys"),
            KEY,
        )
    with pytest.raises(InputError, match="is not a folder"):
        deidentify_folder(
            DeidentifyOptions(
                folder=tmp_path / "nothing", out=tmp_path / "out", key_table=tmp_path / "keys"
            ),
            KEY,
        )
    with pytest.raises(InputError, match="is not up to 16 capitals and digits"):
        deidentify_folder(
            DeidentifyOptions(
                folder=incoming, out=tmp_path / "out", key_table=tmp_path / "keys", prefix="a b"
            ),
            KEY,
        )
    assert not (tmp_path / "keys").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["LIDC-IDRI-0001_original_6slices", "NLST-101287"])
def test_real_slices_lose_what_identifies_and_keep_their_pictures(
    tmp_path: Path, name: str
) -> None:
    archive = TEST_DATA / "ct" / f"{name}.zip"
    if not archive.is_file():
        pytest.skip(f"no CT data at {archive}; set NODULEBENCH_TEST_DATA")
    with zipfile.ZipFile(archive) as file:
        wanted = sorted(name for name in file.namelist() if name.endswith(".dcm"))
        chosen = [*wanted[:4], *(name for name in wanted if "SR" in name)]
        file.extractall(tmp_path / "in", chosen)
    (tmp_path / "in").mkdir(exist_ok=True)
    made = run(tmp_path / "in")
    assert made.written == 4
    assert {outcome.refused.code for outcome in made.refused if outcome.refused} <= {
        "no_ct_picture"
    }
    assert check_folder(tmp_path / "out") == []
    assert check_folder(tmp_path / "in") != []
    originals = {
        str(data.InstanceNumber): data
        for path in (tmp_path / "in").rglob("*.dcm")
        if (data := pydicom.dcmread(path)).Modality == "CT"
    }
    for path in (tmp_path / "out").rglob("*.dcm"):
        data = pydicom.dcmread(path)
        original = originals[str(data.InstanceNumber)]
        assert np.array_equal(data.pixel_array, original.pixel_array)
        assert data.ImagePositionPatient == original.ImagePositionPatient
        header = path.read_bytes()[: -len(data.PixelData)]
        for word in (original.PatientID, original.SeriesInstanceUID, b"149872", b"LSS", b"CTP"):
            assert (word if isinstance(word, bytes) else word.encode()) not in header


def test_a_file_that_kills_its_reader_is_named_and_the_rest_is_done(
    incoming: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lossy(_: object, function: Any, batches: list[Any], *__: object) -> Iterator[Any]:
        for number, batch in reversed(list(enumerate(batches))):
            is_bad = "/1.dcm" in str(batch)
            yield number, FailedTask("died", -9) if is_bad else function(batch)

    monkeypatch.setattr(LocalExecutor, "map", lossy)
    made = run(incoming, executor=LocalExecutor(2))
    names = [Path(outcome.source).name for outcome in made.outcomes]
    assert names == ["0.dcm", "1.dcm", "2.dcm", "letter.txt"]
    assert made.written == 2
    assert in_english(made.refused[0].refused) == (
        "cannot be read (the process that read it ended with exit code -9)"
    )
    (incoming.parent / "out" / "1.dcm").write_bytes(b"x")
    leftovers = [
        in_english(leftover.why)
        for leftover in check_folder(incoming.parent / "out", executor=LocalExecutor(2))
    ]
    assert leftovers == ["cannot be read (the process that read it ended with exit code -9)"]


def test_a_process_that_dies_costs_no_other_file_of_its_batch() -> None:
    words: list[Any] = ["a", "die", *"b" * deidentify_files.BATCH, "c"]
    results = dict(deidentify_files._each(behave, words, LocalExecutor(2)))
    assert results.pop(1) == FailedTask("died", -9)
    assert results == {number: word.upper() for number, word in enumerate(words) if number != 1}


def test_two_processes_check_what_one_checks(incoming: Path) -> None:
    assert check_folder(incoming, executor=LocalExecutor(2)) == check_folder(incoming) != []


def test_files_behind_a_link_are_not_skipped(incoming: Path, tmp_path: Path) -> None:
    elsewhere = incoming.rename(tmp_path / "archive")
    incoming.mkdir()
    (incoming / "linked").symlink_to(elsewhere)
    (incoming / "lost.dcm").symlink_to(tmp_path / "nothing.dcm")
    made = run(incoming)
    assert made.written == 3
    assert {Path(outcome.source).name for outcome in made.refused} == {"letter.txt", "lost.dcm"}
    leftovers = check_folder(incoming)
    assert {Path(leftover.where).name for leftover in leftovers} >= {
        "0.dcm",
        "1.dcm",
        "2.dcm",
        "lost.dcm",
    }


def test_a_folder_that_cannot_be_read_is_reported(
    incoming: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(_folder: Path, unread: Any, **_: object) -> Iterator[str]:
        unread(PermissionError(13, "denied", "/archive/closed"))
        return iter(())

    monkeypatch.setattr(deidentify_files, "files_below", closed)
    assert [outcome.source for outcome in run(incoming).refused] == ["/archive/closed"]
    assert [(leftover.where, leftover.why.code) for leftover in check_folder(incoming)] == [
        ("/archive/closed", "folder_closed")
    ]


def test_what_is_left_out_is_listed_with_its_code_until_it_is_not(incoming: Path) -> None:
    quarantine = incoming.parent / "keys.quarantine.csv"
    assert run(incoming).quarantine == quarantine
    listed = pl.read_csv(quarantine).to_dicts()
    letter = str(incoming / "letter.txt")
    assert listed == [{"file": letter, "code": "not_dicom", "reason": "is not DICOM"}]
    (incoming / "letter.txt").write_bytes((incoming / "Zacharias" / "0.dcm").read_bytes())
    (incoming.parent / "more").mkdir()
    (incoming.parent / "more" / "=cmd").write_text("no slice")
    deidentify_folder(
        DeidentifyOptions(
            folder=incoming.parent / "more",
            out=incoming.parent / "out",
            key_table=incoming.parent / "keys",
        ),
        KEY,
    )
    assert len(pl.read_csv(quarantine)) == 2  # of another folder
    run(incoming)
    assert [Path(file).name for file in pl.read_csv(quarantine)["file"]] == ["=cmd"]
    (incoming / "letter.txt").rename(incoming.parent / "more" / "=cmd")
    deidentify_folder(
        DeidentifyOptions(
            folder=incoming.parent / "more",
            out=incoming.parent / "out",
            key_table=incoming.parent / "keys",
        ),
        KEY,
    )
    assert not quarantine.exists()


def test_where_nothing_can_be_written_several_processes_say_so_too(incoming: Path) -> None:
    run(incoming)
    patient = next((incoming.parent / "out").iterdir())
    shutil.rmtree(patient)
    patient.write_text("in the way")
    with pytest.raises(InputError, match=r"\.dcm: cannot be written: Not a dir"):
        run(incoming, executor=LocalExecutor(2))
    assert len(read_key_table(incoming.parent / "keys", KEY)) == 1


def test_names_of_files_and_folders_are_looked_at(incoming: Path) -> None:
    run(incoming)
    out = incoming.parent / "out"
    assert check_folder(out) == []
    (patient,) = out.iterdir()
    patient.rename(out / "Zacharias")
    assert {leftover.why.code for leftover in check_folder(out)} == {"left_name"}
    (out / f".{'0' * 16}-run").mkdir()
    half = out / f".{'0' * 16}-run" / "half.dcm"
    half.write_bytes(b"")
    assert Leftover(str(half), Notice("left_unfinished")) in check_folder(out)


def test_the_command_takes_the_options_of_the_service() -> None:
    taken = {param.name for param in command.params}
    assert {field.name for field in fields(DeidentifyOptions)} - taken == {"files"}  # of --curated
