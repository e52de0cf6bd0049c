"""CT slices -> the same without identities, checked before they are written; and who is who."""

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

import polars as pl

from nodulebench.core.errors import InputError, Problem, first_line, raise_problems
from nodulebench.core.executor import (
    IN_PROCESS,
    Executor,
    FailedTask,
    Progress,
    TaskLimits,
    map_in_batches,
    no_progress,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.optional_packages import needs
from nodulebench.curation.deidentify.burned_in import check_header, find_text, scales_of
from nodulebench.curation.deidentify.check import (
    elements_in,
    is_known_clean,
    leftovers,
    name_leftovers,
    remember_clean,
    words_in,
)
from nodulebench.curation.deidentify.clean import cleaned_elements
from nodulebench.curation.deidentify.codec import (
    PIXEL_DATA,
    HeaderElement,
    Memory,
    NotCleanableError,
    elements_of,
    encoding_of,
    file_of,
    picture_of,
    read_dataset,
)
from nodulebench.curation.deidentify.identity import (
    Identity,
    Pseudonyms,
    identity_of,
    is_registered,
)
from nodulebench.curation.deidentify.key_table import file_lock, open_key_table
from nodulebench.curation.deidentify.pixels import Picture, picture_in
from nodulebench.i18n.translator import in_english
from nodulebench.io.atomic import run_folder, settle, staged_file
from nodulebench.io.csv_files import CsvFile, write_csv
from nodulebench.io.dicom.files import text_of
from nodulebench.io.dicom.slices import CT_CLASSES
from nodulebench.io.folders import files_below
from nodulebench.security.keys import PrivateKey, read_public_key

if TYPE_CHECKING:
    from pydicom.dataelem import RawDataElement
    from pydicom.dataset import Dataset


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome for one file."""

    source: str
    written: str = ""
    """Path below the target folder; empty: the file was refused."""
    refused: Notice | None = None
    patient: str = ""
    pseudonym: str = ""
    study: tuple[str, str] = ("", "")
    """Study UID before and after."""
    series: tuple[str, str] = ("", "")
    """Series UID before and after."""
    days: int = 0
    bytes_read: int = 0


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress warnings of the parser: the checks of the result cover odd headers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@_quietly()
def deidentify_file(
    path: Path,
    out: Path,
    pseudonyms: Pseudonyms,
    *,
    has_pixel_check: bool = True,
    memory: Memory | None = None,
    within: Path | None = None,
) -> FileOutcome:
    """Write a slice without identities below ``out``, if it can be shown that none are left.

    The output does not depend on ``memory``. ``within``: a folder on the same disk for incomplete
    files; None: next to the target.
    """
    source, memory, size = str(path), memory or Memory(0), 0
    try:
        dataset = read_dataset(path)
        size = path.stat().st_size
        elements = elements_of(dataset)
        _quarantine(dataset)
        picture = picture_in(dataset, dict(elements)[PIXEL_DATA], path)
        if has_pixel_check:
            quarantine_text(dataset, picture)
        identity = identity_of(dataset, elements, memory)
        own, series, study = _uids_of(dataset)  # before they are changed
        content = _cleaned(dataset, elements, picture, identity, pseudonyms, memory)
        quarantine_identities(content[0], identity, memory)
    except NotCleanableError as error:
        return FileOutcome(source, refused=error.notice, bytes_read=size)
    except Exception as error:  # a damaged header may break any part of the parser
        why = Notice("slice_unreadable", {"reason": first_line(error)})
        return FileOutcome(source, refused=why, bytes_read=size)
    name, new_series = pseudonyms.patient(identity.patient), pseudonyms.uid(series)
    written = f"{name}/{new_series}/{pseudonyms.uid(own)}.dcm"
    with staged_file(out / written, within=within) as stage, stage.open("wb") as file:
        file.writelines(content)
    return FileOutcome(
        source,
        written,
        None,
        identity.patient,
        name,
        (study, pseudonyms.uid(study)),
        (series, new_series),
        pseudonyms.days(identity.patient),
        size,
    )


def _uids_of(dataset: "Dataset") -> list[str]:
    return [text_of(dataset, f"{name}InstanceUID") for name in ("SOP", "Series", "Study")]


def _quarantine(dataset: "Dataset") -> None:
    kind = text_of(dataset, "SOPClassUID")
    if kind not in CT_CLASSES:  # reports and documents hold text that no rule can clean
        raise NotCleanableError("no_ct_picture", sop_class=kind if is_registered(kind) else "")
    own, series, _ = _uids_of(dataset)
    if not all((own, series)) or any(is_registered(uid) for uid in (own, series)):
        raise NotCleanableError("no_own_uids")
    if "PixelData" not in dataset:
        raise NotCleanableError("pixels_absent")
    check_header(dataset)


def quarantine_text(dataset: "Dataset", picture: Picture) -> None:
    scales = scales_of(dataset, len(picture.frames))
    for number, (frame, scale) in enumerate(zip(picture.frames, scales, strict=True), start=1):
        text = find_text(frame, *scale)
        if text is not None:
            which = number if len(picture.frames) > 1 else None
            raise NotCleanableError(
                "burned_in_seen",
                letters=text.letters,
                row=text.row,
                column=text.column,
                frame=which,
            )


def _cleaned(
    dataset: "Dataset",
    elements: list[tuple[int, HeaderElement]],
    picture: Picture,
    identity: Identity,
    pseudonyms: Pseudonyms,
    memory: Memory,
) -> list[bytes]:
    sop_class, own = (text_of(dataset, f"SOP{name}UID") for name in ("Class", "Instance"))
    others = [(tag, element) for tag, element in elements if tag != PIXEL_DATA]
    cleaned = cleaned_elements(dataset, others, identity, pseudonyms, memory)
    pixels = picture_of(picture.content, picture.kind, encoding_of(dataset))
    header, pixels = file_of(cleaned, pixels, sop_class, pseudonyms.uid(own), picture.syntax)
    return [header, *pixels]


def quarantine_identities(header: bytes, identity: Identity, memory: Memory) -> None:
    """Read back the bytes of a file before it is written; refuse it if it still identifies."""
    with needs("images", "DICOM"):
        import pydicom
    elements = elements_in(header)
    notices: list[Notice] = []
    if not is_known_clean(elements, identity, memory):
        dataset = pydicom.dcmread(BytesIO(header))
        notices = leftovers(dataset, identity, memory)
        if not notices:
            remember_clean(elements, dataset, identity, memory)
    notices += words_in(header, identity)
    if notices:
        raise NotCleanableError("identities_left", what=notices)


@_quietly()
def check_file(
    path: Path, memory: Memory | None = None, *, has_pixel_check: bool = True
) -> list[Notice]:
    """What in a file could still identify, without knowledge of the original."""
    notices: list[Notice] = []
    try:
        dataset = read_dataset(path)
        pixels = cast("RawDataElement", dict(elements_of(dataset)).get(PIXEL_DATA))
        notices = leftovers(dataset, memory=memory)
        _quarantine(dataset)
        picture = picture_in(dataset, pixels, path)
        if picture.syntax != str(dataset.file_meta.TransferSyntaxUID):
            notices.append(Notice("left_compressed"))
        elif not _has_only_pixels(path, pixels, picture):
            notices.append(Notice("left_in_pixels"))
        if has_pixel_check:
            quarantine_text(dataset, picture)
    except NotCleanableError as error:
        return [*notices, error.notice]
    except Exception as error:  # as above
        return [*notices, Notice("slice_unreadable", {"reason": first_line(error)})]
    return notices


def _has_only_pixels(path: Path, pixels: "RawDataElement", picture: Picture) -> bool:
    """Whether Pixel Data holds only the image and a padding byte, and the file ends there."""
    value = pixels.value or b""
    is_only_picture = value == picture.content + bytes(len(picture.content) % 2)
    return bool(is_only_picture and pixels.value_tell + len(value) == path.stat().st_size)


COLUMNS = ("file", "code", "reason")


def quarantine_of(key_table: Path) -> Path:
    """The list of refused files of a key table."""
    return key_table.with_name(f"{key_table.name}.quarantine.csv")


def list_quarantine(
    path: Path, files: Iterable[str], left_out: Iterable[tuple[str, Notice]]
) -> None:
    with file_lock(path):
        seen = {_writable(file) for file in files}
        rows = [row for row in _listed(path) if row["file"] not in seen]
        rows += [
            {"file": _writable(file), "code": why.code, "reason": in_english(why)}
            for file, why in left_out
        ]
        if rows:
            schema = dict.fromkeys(COLUMNS, pl.String)
            write_csv(pl.DataFrame(rows, schema=schema).sort("file"), path)
        elif path.exists():
            path.unlink()
            settle(path.resolve().parent)


def _listed(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    return list(CsvFile(path).read_columns(text=COLUMNS).select(COLUMNS).to_dicts())


def _writable(name: str) -> str:
    """The name of a file as text, with invalid bytes escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


Result = TypeVar("Result")
BATCH = 16
"""Number of files that a process gets at once."""
TERMS = TaskLimits(
    preload=("nodulebench.curation.deidentify.service", "pydicom", "scipy.sparse.csgraph")
)


@dataclass(frozen=True, slots=True)
class DeidentifyReport:
    """The outcome for a folder."""

    outcomes: tuple[FileOutcome, ...]
    seconds: float
    quarantine: Path

    @property
    def written(self) -> int:
        return sum(bool(outcome.written) for outcome in self.outcomes)

    @property
    def patients(self) -> int:
        return len({outcome.pseudonym for outcome in self.outcomes if outcome.written})

    @property
    def refused(self) -> list[FileOutcome]:
        return [outcome for outcome in self.outcomes if not outcome.written]

    @property
    def bytes_read(self) -> int:
        return sum(outcome.bytes_read for outcome in self.outcomes)

    @property
    def repeated(self) -> int:
        """Number of files that are copies of another instance, which is written once."""
        counts = Counter(outcome.written for outcome in self.outcomes if outcome.written)
        return sum(count - 1 for count in counts.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class DeidentifyOptions:
    """Which slices are de-identified, and where they are written."""

    folder: Path
    """Searched with its subfolders; one bad file never stops the rest."""
    out: Path
    """Where the slices go, by patient and series; their names identify no one."""
    key_table: Path
    """Who is who, encrypted; created if it does not exist. Not below ``folder`` or ``out``."""
    colleagues: Sequence[Path] = ()
    """Public keys of other people who read and write the key table."""
    files: Sequence[Path] | None = None
    """Only these of the folder, such as those that a curation admitted; None: all."""
    prefix: str = "P"
    """Begins every pseudonym, for instance the site's letters."""
    has_pixel_check: bool = True
    """Whether text is searched for in the images."""


def deidentify_folder(
    options: DeidentifyOptions,
    own_key: PrivateKey,
    *,
    executor: Executor = IN_PROCESS,
    progress: Progress = no_progress,
) -> DeidentifyReport:
    """De-identify every CT slice below a folder.

    The key of the pseudonyms is that of the key table, which is written before the first slice: the
    same table gives the same pseudonyms again, so the next run completes an interrupted one.
    """
    out, key_table = options.out, options.key_table
    _require_separate_folders(options.folder, out, key_table, options.prefix)
    started = time.monotonic()
    table = open_key_table(key_table, own_key, [read_public_key(key) for key in options.colleagues])
    if options.files is None:
        paths, closed = _files_below(options.folder)
    else:
        paths, closed = [*options.files], []
    pseudonyms = Pseudonyms(table.pseudonym_key, options.prefix)
    by_number: dict[int, FileOutcome] = {}
    with run_folder(out) as unfinished:
        clean = partial(
            deidentify_file,
            out=out,
            pseudonyms=pseudonyms,
            has_pixel_check=options.has_pixel_check,
            memory=Memory(),
            within=unfinished,
        )
        try:
            for number, outcome in _each(partial(_deidentified, clean), paths, executor):
                if isinstance(outcome, InputError):
                    raise outcome
                if isinstance(outcome, FailedTask):
                    outcome = FileOutcome(str(paths[number]), refused=_unread(outcome))
                by_number[number] = outcome
                progress("files", len(by_number), len(paths))
        finally:  # the table has every written file, however the run ends
            table.add(_rows_of(by_number.values()))
    outcomes = [by_number[number] for number in range(len(paths))]
    outcomes += [FileOutcome(source, refused=why) for source, why in closed]
    left_out = [
        (outcome.source, outcome.refused) for outcome in outcomes if outcome.refused is not None
    ]
    quarantine = quarantine_of(key_table)
    list_quarantine(quarantine, (outcome.source for outcome in outcomes), left_out)
    return DeidentifyReport(tuple(outcomes), time.monotonic() - started, quarantine)


def _deidentified(clean: Callable[[Path], FileOutcome], path: Path) -> FileOutcome | InputError:
    """The outcome for a file, or an error of writing, which ends the run in any executor."""
    try:
        return clean(path)
    except InputError as error:
        return error


@dataclass(frozen=True, slots=True)
class Leftover:
    """Something that could still identify a person, and the file or folder that holds it."""

    where: str
    why: Notice


def check_folder(
    folder: Path, *, has_pixel_check: bool = True, executor: Executor = IN_PROCESS
) -> list[Leftover]:
    """Everything below a folder that could still identify a person; all must be DICOM files."""
    if not folder.is_dir():
        raise InputError.at(str(folder), "is not a folder.")
    paths, closed = _files_below(folder, has_unfinished=True)
    check = partial(check_file, memory=Memory(), has_pixel_check=has_pixel_check)
    notices = {
        number: [_unread(outcome)] if isinstance(outcome, FailedTask) else outcome
        for number, outcome in _each(check, paths, executor)
    }
    left = [Leftover(source, why) for source, why in closed]
    for number, path in enumerate(paths):
        named = name_leftovers(path.relative_to(folder).parts)
        left += [Leftover(str(path), why) for why in (*named, *notices[number])]
    return left


def _unread(lost: FailedTask) -> Notice:
    return Notice("reader_lost", {"why": lost.why})


def _files_below(
    folder: Path, *, has_unfinished: bool = False
) -> tuple[list[Path], list[tuple[str, Notice]]]:
    """All files, including those behind links, and the folders that cannot be read."""
    closed: list[tuple[str, Notice]] = []

    def tell(error: OSError) -> None:
        why = Notice("folder_closed", {"error": error.strerror or str(error)})
        closed.append((str(error.filename), why))

    files = files_below(folder, tell, has_unfinished=has_unfinished)
    return sorted(Path(file) for file in files), closed


def _each(
    function: Callable[[Path], Result], paths: Sequence[Path], executor: Executor
) -> Iterator[tuple[int, Result | FailedTask]]:
    """The result of a function for every file, with the file's number, as results arrive."""
    if len(paths) < 2 and executor.is_here:
        executor = IN_PROCESS
    yield from map_in_batches(executor, function, paths, size=BATCH, terms=TERMS)


def _require_separate_folders(folder: Path, out: Path, key_table: Path, prefix: str) -> None:
    problems = []
    if not folder.is_dir():
        problems.append(Problem(str(folder), "is not a folder."))
    if out.resolve().is_relative_to(folder.resolve()):
        problems.append(Problem(str(out), "is in the folder of the originals."))
    for place in (out, folder):
        if key_table.resolve().is_relative_to(place.resolve()):
            problems.append(
                Problem(str(key_table), f"is in {place}.", "Store the key table elsewhere.")
            )
    if not prefix.isalnum() or not prefix.isascii() or prefix != prefix.upper() or len(prefix) > 16:
        problems.append(Problem(f"prefix '{prefix}'", "is not up to 16 capitals and digits."))
    raise_problems(problems)


def _rows_of(outcomes: Iterable[FileOutcome]) -> list[JsonObject]:
    """Who is who among the written files: one row per series."""
    known = {}
    for outcome in outcomes:
        if outcome.written:
            patient, _, issuer = outcome.patient.partition("\n")
            known[outcome.series[0]] = {
                "patient": patient,
                "issuer": issuer,
                "pseudonym": outcome.pseudonym,
                "days": outcome.days,
                "study": outcome.study[0],
                "new_study": outcome.study[1],
                "series": outcome.series[0],
                "new_series": outcome.series[1],
            }
    return list(known.values())
