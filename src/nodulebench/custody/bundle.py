"""Reference + images -> a bundle that is a BagIt bag, with a datasheet."""

import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import polars as pl

from nodulebench import __version__
from nodulebench.core.errors import Problem, Problems, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import SCAN_FACTS, Reference
from nodulebench.core.text import shown
from nodulebench.curation.cases import SUMMARY, read_case_files, tidy_names
from nodulebench.curation.composition.service import draw_record
from nodulebench.custody.datasheet import (
    CURATION,
    DOCUMENTS,
    DRAW,
    evidence_answers,
    make_datasheet,
    parse_answers,
    stated_answers,
)
from nodulebench.custody.layout import IMAGE_LIST, IMAGES
from nodulebench.io.atomic import staged_folder
from nodulebench.io.bundle import write_reference
from nodulebench.io.cases import described_by
from nodulebench.io.csv_files import without_marks, write_csv
from nodulebench.io.folders import files_below
from nodulebench.io.formats import read_case_list, read_cases, read_reference
from nodulebench.io.json_files import read_json, write_json
from nodulebench.io.manifests import PAYLOAD, file_digest, is_bag, tag_files, write_manifest


@dataclass(frozen=True, slots=True)
class ImageFile:
    """An image file of a case."""

    case_id: str
    path: Path
    name: str
    """Below ``images/`` of a bundle."""


@dataclass(frozen=True, slots=True)
class FoundImages:
    """The images of a test set."""

    folder: Path
    """Below which all files lie."""
    files: tuple[ImageFile, ...] = ()
    passed_over: int = 0
    """DICOM files of series that are no case."""


def curated_images(curated: Path, folder: Path | None, case_ids: Collection[str]) -> FoundImages:
    """The images of cases that a curation admitted, named by case and in order.

    Raises:
        InputError: if it is no curation, or files are no longer there.
    """
    found = read_case_files(curated, folder, case_ids)
    files = tuple(
        ImageFile(case_id, found.folder / name, f"{case_id}/{tidy}")
        for case_id, names in found.files.items()
        for name, tidy in zip(names, tidy_names(len(names)), strict=True)
    )
    return FoundImages(found.folder, files)


def images_in(folder: Path, case_ids: Collection[str]) -> FoundImages:
    """The images of cases in a folder, wherever they lie below it.

    A file belongs to the case that a folder on its way, or its own name, is called by; else, if it
    is a CT slice, to the case of its Series Instance UID. DICOM files of other series are passed
    over.

    Raises:
        InputError: if a file belongs to nothing, two have one name, or a bag cannot hold one.
    """
    known = set(case_ids)
    problems = Problems()

    def refuse(error: OSError) -> None:
        told = f"cannot be looked into: {error.strerror}."
        problems.add(shown(str(error.filename)), told)

    files, unnamed = [], []
    for path in sorted(Path(file) for file in files_below(folder, refuse)):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or shown(name) != name:
            what = "is no file." if shown(name) == name else "has a name that is not UTF-8."
            problems.add(shown(str(path)), what, "A bag cannot hold it.")
        elif owner := named_owner(PurePosixPath(name), known):
            files.append(ImageFile(owner[0], path, owner[1]))
        else:
            unnamed.append(path)
    dicom = {path for path in unnamed if _is_dicom(path)}
    problems += [
        Problem(str(path), "belongs to no case.", "Name files or folders by case_id.")
        for path in unnamed
        if path not in dicom
    ]
    by_header = {one.path: one for one in _by_header(folder, known)} if dicom else {}
    files += [by_header[path] for path in unnamed if path in by_header]
    counts = Counter(file.name for file in files)
    problems += [
        Problem(
            str(file.path), f"would be images/{file.name}, like another.", "Remove one of them."
        )
        for file in files
        if counts[file.name] > 1
    ]
    raise_problems(problems)
    return FoundImages(folder, tuple(files), len(dicom - by_header.keys()))


def named_owner(name: PurePosixPath, known: set[str]) -> tuple[str, str] | None:
    """The case that a path is named by, and the path from there on; None: none."""
    for at, part in enumerate(name.parts):
        # 'a.b.mhd' may be the case 'a.b' or, for 'a.nii.gz', the case 'a'
        candidates = [part, *(part.rsplit(".", parts)[0] for parts in (1, 2))]
        owner = next((candidate for candidate in candidates if candidate in known), None)
        if owner is not None:
            return owner, "/".join(name.parts[at:])
    return None


def _by_header(folder: Path, known: set[str]) -> Iterator[ImageFile]:
    """The CT slices of cases, by what their headers say."""
    from nodulebench.io.dicom.series import ct_series

    for case_id, series in ct_series(folder, known).items():
        for path, tidy in zip(series.files, tidy_names(len(series.files)), strict=True):
            yield ImageFile(case_id, Path(path), f"{case_id}/{tidy}")


def _is_dicom(path: Path) -> bool:
    from nodulebench.io.dicom.files import is_dicom

    return is_dicom(path)


DATASHEET = "datasheet.json"


@dataclass(frozen=True, slots=True)
class BundleReport:
    """What a bundle holds."""

    name: str
    cases: int
    images: int
    without_images: tuple[str, ...]
    """Cases for which no image file was found."""
    gaps: tuple[str, ...]
    """Questions of the datasheet without an answer."""
    passed_over: int = 0
    """Image files of series that are no case of the set."""
    notices: tuple[Notice, ...] = ()
    """What a reader of the reference has to know."""


def write_bundle(
    reference: Path,
    out: Path,
    *,
    images: Path | None = None,
    curated: Path | None = None,
    series: Path | None = None,
    is_copied: bool = True,
    cases: Path | None = None,
    nodules: Path | None = None,
    answers: Path | None = None,
    name: str = "",
    progress: Progress = no_progress,
) -> BundleReport:
    """Write a test set as a bag into a new folder, whole or not at all.

    Args:
        reference: in any format that holds one.
        out: the new folder.
        images: a folder of images, in whatever layout; with ``curated``, where the curated files
            lie now.
        curated: what ``curate`` wrote: admitted cases, what is known of them and their files.
        series: list or table of cases, as ``draw`` writes it: restricts and orders them.
        is_copied: whether the images are copied, or listed with their digests only.
        cases: the table of cases, where the reference has none of its own.
        nodules: a table of what else is known of its nodules.
        answers: what people say of the set, TOML.
        name: what the set is called from now on; empty: as the reference is.
        progress: told how many images are done.

    Raises:
        InputError: if something cannot be read, or images belong to no case.
    """
    truth = _read_truth(reference, cases, curated, nodules)
    truth = replace(truth, name=name or truth.name)
    if series is not None:
        truth = truth.restricted(read_case_list(series), series.name)
    stated, documents = bundle_contents(reference, answers)
    if series is not None and draw_record(series).is_file():
        documents[DRAW] = read_json(draw_record(series))
    if curated is not None:
        documents[CURATION] = _unmatched(read_json(curated / SUMMARY))
    found = _found_images(images, curated, truth.cases["case_id"])
    with staged_folder(out, is_new=True) as stage:
        payload = stage / PAYLOAD
        write_reference(truth, payload)
        for name, document in documents.items():
            write_json(document, payload / name)
        if found is not None and is_copied:
            _copy_images(found, payload / IMAGES, progress)
        elif found is not None:
            write_csv(_image_list(found, progress), payload / IMAGE_LIST)
        where = f"{PAYLOAD}/{IMAGES}/" if is_copied else f"listed in {PAYLOAD}/{IMAGE_LIST}"
        told = f"{len(found.files)} image files, {where}." if found and found.files else ""
        evidence = evidence_answers(documents)
        sheet = make_datasheet(truth, stated, images=told, evidence=evidence)
        placed = sorted(path for path in payload.rglob("*") if path.is_file())
        written = tag_files(
            {path.relative_to(stage).as_posix(): file_digest(path) for path in placed},
            payload_bytes=sum(path.stat().st_size for path in placed),
            description=f"Test set {truth.name}",
            organization=stated.get("key_custodian", ""),
            day=datetime.now(UTC).date(),
            agent=f"NoduleBench {__version__}",
            others={
                DATASHEET: (json.dumps(sheet.to_json(), indent=1) + "\n").encode(),
                "datasheet.md": sheet.to_markdown().encode(),
            },
        )
        for name, content in written.items():
            (stage / name).write_bytes(content)
        write_manifest(stage)
    files = () if found is None else found.files
    known = {file.case_id for file in files}
    lacking = () if found is None else (one for one in truth.cases["case_id"] if one not in known)
    return BundleReport(
        truth.name,
        truth.cases.height,
        len(files),
        tuple(lacking),
        tuple(sheet.gaps),
        passed_over=0 if found is None else found.passed_over,
        notices=truth.notices,
    )


def _read_truth(
    reference: Path, cases: Path | None, curated: Path | None, nodules: Path | None
) -> Reference:
    """The reference with its table of cases, or with what curation read from the images."""
    if cases is not None or curated is None:
        return read_reference(reference, cases=cases, nodules=nodules)
    known = read_cases(curated)
    truth = read_reference(reference, cases=known.drop(SCAN_FACTS, strict=False), nodules=nodules)
    described, notices = described_by(truth.cases, known)
    return replace(truth, cases=described, notices=(*truth.notices, *notices))


def bundle_contents(reference: Path, answers: Path | None) -> tuple[dict[str, str], JsonObject]:
    """What people stated of a test set, and the documents of how it came about.

    Args:
        reference: of any format; a bundle or a bag may hold both.
        answers: what people state now, TOML; it stands before what a bag's datasheet says.

    Returns:
        Answers of the datasheet, and the documents that ``custody/datasheet.py`` reads, as far as
        they are there.

    Raises:
        InputError: if something cannot be read.
    """
    sheet = reference / DATASHEET
    stated = stated_answers(read_json(sheet)) if sheet.is_file() else {}
    if answers is not None:
        stated |= parse_answers(answers.read_text(encoding="utf-8"), str(answers))
    tables = reference / PAYLOAD if is_bag(reference) else reference
    found = {name: tables / name for name in DOCUMENTS}
    return stated, {name: read_json(path) for name, path in found.items() if path.is_file()}


def _unmatched(curation: Any) -> Any:
    """A summary of a curation without the folder of its machine."""
    if not isinstance(curation, dict):
        return curation
    return {name: value for name, value in curation.items() if name != "folder"}


def image_problems(bundle: Path, images: Path) -> list[Problem]:
    """Images that a bundle lists and that are not, elsewhere, what they were."""
    listed = bundle / PAYLOAD / IMAGE_LIST
    if not listed.is_file():
        return [Problem(str(listed), "is not there: the set does not list its images.")]
    problems = []
    rows = without_marks(pl.read_csv(listed, glob=False, infer_schema=False))
    for row in rows.iter_rows(named=True):
        path = images / row["path"]
        if not path.is_file():
            problems.append(Problem(str(path), f"is listed in {IMAGE_LIST}, but is not there."))
        elif file_digest(path) != row["digest"]:
            problems.append(Problem(str(path), f"is not the file that {IMAGE_LIST} lists."))
    return problems


def _found_images(
    images: Path | None, curated: Path | None, case_ids: pl.Series
) -> FoundImages | None:
    """The images that were asked for; None: none were."""
    if curated is not None:
        return curated_images(curated, images, case_ids.to_list())
    return None if images is None else images_in(images, case_ids.to_list())


def _copy_images(found: FoundImages, target: Path, progress: Progress) -> None:
    for number, file in enumerate(found.files, start=1):
        (target / file.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, target / file.name)
        progress("images", number, len(found.files))


def _image_list(found: FoundImages, progress: Progress) -> pl.DataFrame:
    rows = []
    for number, file in enumerate(found.files, start=1):
        name = file.path.relative_to(found.folder).as_posix()
        rows.append((file.case_id, name, file.path.stat().st_size, file_digest(file.path)))
        progress("images", number, len(found.files))
    return pl.DataFrame(rows, schema=["case_id", "path", "bytes", "digest"], orient="row")
