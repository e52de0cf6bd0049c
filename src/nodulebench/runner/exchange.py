"""Send encrypted cases on a disk to a developer's own machine, and take the marks back.

For algorithms that cannot be run in the laboratory. Images are sent under pseudonyms; returned
marks are accepted only if they are of these very cases.
"""

import io
import secrets
import shutil
import tarfile
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from nodulebench.core.algorithm import InputFormat, RunContract
from nodulebench.core.errors import InputError, Problem, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.tables import CASES, MARKS
from nodulebench.custody.sealed_set import require_outside
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.volume import Volume
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import is_sealed
from nodulebench.io.folders import process_folder
from nodulebench.io.formats import read_submission
from nodulebench.io.json_files import read_json, write_json
from nodulebench.io.marks.submission_folder import write_marks
from nodulebench.runner.case_input import write_case
from nodulebench.runner.case_output import CATEGORY
from nodulebench.runner.cases import opaque_cases
from nodulebench.runner.test_set import open_run_set
from nodulebench.security.keys import PrivateKey, PublicKey
from nodulebench.security.vault import encrypted_for

SCHEMA = "nodulebench/exchange@1"
CASES_FOLDER, NOTE, HELP = "cases", "exchange.json", "README.txt"
_HELP = """Each file of cases/ is one CT case, a tar archive encrypted for your key by age:

    age -d -i YOUR_KEY cases/NAME.tar.age | tar -x

gives a folder NAME with case.json (name of the case, and the geometry of its voxels) and the
scan. Send back the marks of all cases, under these names, in one file or folder of any format that
`nodulebench formats` lists; positions in LPS millimetres. A case without marks has no findings.
"""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Packed:
    """What was sent."""

    identity: str
    cases: int
    files: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What was returned."""

    marks: int
    cases: int
    without_marks: int


def pack(
    test_set: Path,
    out: Path,
    record: Path,
    recipient: PublicKey,
    *,
    image_format: InputFormat = "metaimage",
    own_key: PrivateKey | None = None,
    progress: Progress = no_progress,
) -> Packed:
    """Write the images of a test set for one recipient, and a record that maps marks to cases.

    ``out`` is a new folder, for the disk; ``record``, the pseudonyms, is a file that stays here. A
    sealed set is opened for a run, which its log records.
    """
    if record.exists():
        _remove_unended(record, out)
    if record.resolve().is_relative_to(out.resolve()):
        raise InputError.at(record, "would be sent with the cases.", "Choose another folder.")
    if is_sealed(test_set):
        for path in (out, record):
            require_outside(path, test_set)
    identity = secrets.token_hex(16)
    with open_run_set(test_set, own_key) as cases, staged_folder(out, is_new=True) as stage:
        shuffled = opaque_cases(cases.case_ids, secrets.token_bytes(32))
        facts = {"exchange": identity, "recipient": recipient.fingerprint}
        cases.record(facts, [case.case_id for case in shuffled])
        (stage / CASES_FOLDER).mkdir()
        rows = []
        for number, case in enumerate(shuffled, 1):
            with cases.image(case.case_id) as volume:
                content = _archive(volume, case.name, image_format)
                names = {"name": case.name, "case_id": case.case_id}
                rows.append({**names, **geometry_columns(volume.geometry)})
            (stage / CASES_FOLDER / f"{case.name}.tar.age").write_bytes(
                encrypted_for(content, recipient)
            )
            progress(case.name, number, len(shuffled))
        note = {
            "schema": SCHEMA,
            "exchange": identity,
            "cases": sorted(row["name"] for row in rows),
        }
        write_json(note, stage / NOTE)
        (stage / HELP).write_text(_HELP, encoding="utf-8")
        contents = {**note, "test_set": cases.name, "test_set_digest": cases.digest, "cases": rows}
        contents["recipient"] = recipient.line
        write_json({**contents, "has_ended": False}, record)
    write_json({**contents, "has_ended": True}, record)
    return Packed(identity, len(shuffled), (out, record))


def _remove_unended(record: Path, out: Path) -> None:
    """Remove what a stopped ``pack`` left; its note is last, so that this may be stopped, too."""
    begun = read_json(record)
    if not isinstance(begun, dict) or begun.get("has_ended", True):
        what = "already exists: it belongs to another exchange."
        raise InputError.at(record, what, "Choose another name.")
    note = out / NOTE
    if note.exists() and read_json(note).get("exchange") == begun["exchange"]:
        shutil.rmtree(out / CASES_FOLDER, ignore_errors=True)
        (out / HELP).unlink(missing_ok=True)
        note.unlink()


def unpack(marks: Path, record: Path, out: Path) -> Unpacked:
    """Write returned marks as a submission, if they are of the cases that were sent."""
    content = read_json(record)
    rows = content.get("cases") if isinstance(content, dict) else None
    is_known = isinstance(content, dict) and content.get("schema") == SCHEMA
    if not is_known or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        what = "is not a record of an exchange."
        raise InputError.at(record, what, "Give the file that `pack` wrote.")
    own = {row["name"]: row["case_id"] for row in rows}
    named = [{**row, "case_id": row["name"]} for row in rows]
    cases = CASES.conform(pl.DataFrame(named).drop("name"), str(record))
    submission = read_submission(marks, cases)
    tables = [submission.marks, submission.slices, submission.runs]
    given = {name for table in tables if table is not None for name in table["case_id"]}
    raise_problems(
        Problem(str(marks), f"has marks of '{name}', which is not a case of this exchange.")
        for name in sorted(given - set(own))[:_MOST_NAMED]
    )
    wordless = submission.marks.with_columns(
        new=pl.int_range(1, pl.len() + 1).over("case_id").cast(pl.String),
        category=pl.when(pl.col("category").str.contains(CATEGORY)).then(pl.col("category")),
    )
    slices = submission.slices
    if slices is not None:
        numbers = wordless.select("case_id", "mark_id", "new")
        joined = slices.join(numbers, on=["case_id", "mark_id"], maintain_order="left")
        slices = joined.with_columns(mark_id=pl.col("new")).select(slices.columns)
    plain = MARKS.arrange(wordless.with_columns(mark_id=pl.col("new")))

    def named_back(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(pl.col("case_id").replace_strict(own, return_dtype=pl.String))

    back = [None if table is None else named_back(table) for table in (slices, submission.runs)]
    write_marks(replace(submission, marks=named_back(plain), slices=back[0], runs=back[1]), out)
    return Unpacked(plain.height, len(own), len(own) - plain["case_id"].n_unique())


def _archive(volume: Volume, name: str, image_format: InputFormat) -> bytes:
    """Return the folder of a case as a tar archive, without owners and times."""
    content = io.BytesIO()
    with process_folder() as private:
        folder = private / name
        folder.mkdir()
        write_case(volume, name, folder, RunContract(command=("read",), input=image_format))
        with tarfile.open(fileobj=content, mode="w") as tar:
            tar.add(folder, name, filter=_plain_member)
    return content.getvalue()


def _plain_member(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
