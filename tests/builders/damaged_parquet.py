"""A Parquet file of 2 kB that ends the process of who reads it, and everybody it is sent to.

``python -m builders.damaged_parquet PLACE FOLDER`` sends it to a place in an empty folder, in a
separate process, and prints what the sender is answered.
"""

import io
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import polars as pl

CASE = "1.2.3.1"
HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"
ROW = {"case_id": CASE, "mark_id": "1", "x_mm": 1.0, "y_mm": 2.0, "z_mm": 3.0, "score": 0.5}


def good_parquet() -> bytes:
    """Three marks of one case."""
    file = io.BytesIO()
    table = pl.DataFrame([{**ROW, "mark_id": str(number)} for number in range(3)])
    table.write_parquet(file, compression="uncompressed")
    return file.getvalue()


def damaged_parquet() -> bytes:
    """The same file, whose first page has -1 values: polars asks for 2 EiB, gets none and aborts.

    The three bytes are the start of a page header: a structure, and its first field, an integer
    that is 3 in the variable-length code of Thrift.
    """
    before, header, after = good_parquet().partition(b"\x2c\x15\x06")
    assert header
    return before + b"\x2c\x15\x01" + after


def sent_folders() -> dict[str, dict[str, bytes]]:
    """The ways to send it: names of files in a folder, and their bytes."""
    content = damaged_parquet()
    marks = (HEADER + f"{CASE},1,2,3,0.5\n").encode()
    return {
        "marks": {"marks.parquet": content},
        "slices": {"marks.csv": marks, "mark_slices.parquet": content},
        "runs": {"marks.csv": marks, "runs.parquet": content},
        "in a folder": {"mine/marks.parquet": content},
        "in capitals": {"marks.csv": marks, "MARKS.PARQUET": content},
        "under another name": {"marks.csv": content},
        "of another start": {"marks.parquet": b"none" + content[4:]},
        "of another end": {"marks.parquet": content[:-4] + b"none"},
    }


def packed(files: dict[str, bytes]) -> bytes:
    """Files as a zip archive."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, content in files.items():
            file.writestr(name, content)
    return archive.getvalue()


def write_files(folder: Path, files: dict[str, bytes]) -> Path:
    """Files in a new folder."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def translate(*answer: object) -> None:
    """Print an answer so that others can tell it from the next."""
    sys.stdout.write(" ".join(["\n\0", *map(str, answer)]))


def read_directly(folder: Path) -> None:
    """What happens without a check."""
    pl.read_parquet(write_files(folder, {"a": damaged_parquet()}) / "a")


def check_without_reference(folder: Path) -> None:
    """What the portal and other platforms do with files of participants."""
    from nodulebench.core.tables import CASES
    from nodulebench.evaluation.check import check_without_reference

    cases = CASES.arrange(pl.DataFrame({"case_id": [CASE]}))
    for name, files in sent_folders().items():
        for known in (cases, None):
            problems = check_without_reference(write_files(folder / name, files), known, "luna16")
            translate(name, *problems.problems)


def collect_output(folder: Path) -> None:
    """What ``run`` does with the output of an algorithm under test."""
    from builders.algorithms import small_volume
    from nodulebench.core.algorithm import RunContract, RunOutput
    from nodulebench.io.untrusted_files import OutputRejectedError
    from nodulebench.runner.case_output import read_output

    for name, files in sent_folders().items():
        taken = write_files(folder / name, files)
        *_, parquet = files
        for outputs in ((), (RunOutput(path=parquet),)):
            run = RunContract(command=("x",), outputs=outputs)
            try:
                read_output(taken, small_volume(), CASE, None, run)
                translate(name, "was read")
            except OutputRejectedError as error:
                translate(name, error.why.code, error.why.values)


def send_to_portal(folder: Path) -> None:
    """Check, submit, and the interface for programs."""
    from builders.portal import make_person, make_tiny_benchmark, open_site, signed_in

    site = open_site(folder)
    benchmark = make_tiny_benchmark(site, make_person(site, "olga", "organiser"))
    make_person(site, "ada", "participant")
    ada = signed_in(site, "ada")
    page = f"/benchmarks/{benchmark}/submit"
    for name, files in sent_folders().items():
        sent = {"file": ("mine.zip", packed(files))}
        for how in ("validate", "submit"):
            answer = ada.post(f"/benchmarks/{benchmark}/{how}", page, files=sent, name="Mine")
            translate(name, answer.status_code, answer.text)
    single = {"file": ("marks.parquet", damaged_parquet())}
    answer = ada.post(f"/benchmarks/{benchmark}/validate", page, files=single, name="Mine")
    translate("single", answer.status_code, answer.text)


def leave_to_worker(folder: Path) -> None:
    """An entry that was taken before such files were refused."""
    from sqlalchemy import select

    from builders.portal import make_person, make_tiny_benchmark, open_site, work_off
    from nodulebench.web.portal.database.models import Job
    from nodulebench.web.portal.submissions.service import SubmitOptions, store_upload, submit

    site = open_site(folder)
    benchmark = make_tiny_benchmark(site, make_person(site, "olga", "organiser"))
    ada = make_person(site, "ada", "participant")
    for name, files in sent_folders().items():
        with store_upload(site, "mine.zip", io.BytesIO(packed(files)), ada.account) as sent:
            submit(site, ada, benchmark, sent, SubmitOptions(name=name))
    work_off(site)
    with site.database.reading() as session:
        for job in session.scalars(select(Job)):
            translate(job.entry.name, job.state, job.problems)


PLACES: dict[str, Callable[[Path], None]] = {
    "polars": read_directly,
    "check": check_without_reference,
    "run": collect_output,
    "portal": send_to_portal,
    "worker": leave_to_worker,
}

if __name__ == "__main__":
    PLACES[sys.argv[1]](Path(sys.argv[2]))
