"""Write a reference and its images as a BagIt bag with a datasheet."""

import json
import shutil
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import polars as pl

from nodulebench import __version__
from nodulebench.core.errors import Problem, Problems, raise_problems
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.json_types import JsonObject
from nodulebench.core.notices import Notice
from nodulebench.core.tables import SCAN_FACTS, Reference
from nodulebench.core.text import shown
from nodulebench.curation.cases import SUMMARY, read_case_files, tidy_names
from nodulebench.curation.sampling import draw_record
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
from nodulebench.io.csv_files import CsvFile, write_csv
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


@dataclass(frozen=True, slots=True)
class SetImages:
    """The images of a test set."""

    folder: Path
    files: tuple[ImageFile, ...] = ()
    passed_over: int = 0
    """DICOM files of series that are not a case."""


def curated_images(curated: Path, folder: Path | None, case_ids: Collection[str]) -> SetImages:
    curation = read_case_files(curated, folder, case_ids)
    files = tuple(
        ImageFile(case_id, curation.folder / name, f"{case_id}/{tidy}")
        for case_id, names in curation.files.items()
        for name, tidy in zip(names, tidy_names(len(names)), strict=True)
    )
    return SetImages(curation.folder, files)


def images_in(folder: Path, case_ids: Collection[str]) -> SetImages:
    """Return the images of cases anywhere below a folder.

    A file belongs to the case named by one of its folders or by its own name. Otherwise a CT slice
    belongs to the case of its Series Instance UID. DICOM files of other series are skipped.
    """
    known = set(case_ids)
    problems = Problems()

    def refuse(error: OSError) -> None:
        what = f"cannot be read: {error.strerror}."
        problems.add(shown(str(error.filename)), what)

    files, unnamed = [], []
    for path in sorted(Path(file) for file in files_below(folder, refuse)):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or shown(name) != name:
            what = "is not a file." if shown(name) == name else "has a name that is not UTF-8."
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
    by_header = {file.path: file for file in _by_header(folder, known)} if dicom else {}
    files += [by_header[path] for path in unnamed if path in by_header]
    counts = Counter(file.name for file in files)
    problems += [
        Problem(
            str(file.path),
            f"would be images/{file.name}, like another file.",
            "Remove one of them.",
        )
        for file in files
        if counts[file.name] > 1
    ]
    raise_problems(problems)
    return SetImages(folder, tuple(files), len(dicom - by_header.keys()))


def named_owner(name: PurePosixPath, known: set[str]) -> tuple[str, str] | None:
    """Return the case that a path names and the path from there; None: it names no case."""
    for at, part in enumerate(name.parts):
        # 'a.b.mhd' may be the case 'a.b' or, for 'a.nii.gz', the case 'a'
        candidates = [part, *(part.rsplit(".", parts)[0] for parts in (1, 2))]
        owner = next((candidate for candidate in candidates if candidate in known), None)
        if owner is not None:
            return owner, "/".join(name.parts[at:])
    return None


def _by_header(folder: Path, known: set[str]) -> Iterator[ImageFile]:
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
    """What a bundle contains."""

    name: str
    cases: int
    images: int
    without_images: tuple[str, ...]
    gaps: tuple[str, ...]
    """Questions of the datasheet without an answer."""
    passed_over: int = 0
    """Image files of series that are not a case of the set."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleOptions:
    """What to write as a bundle."""

    reference: Path
    out: Path
    images: Path | None = None
    """Folder of images in any layout; with ``curated``, the present folder of the curated files."""
    curated: Path | None = None
    """What ``curate`` wrote: admitted cases, their properties and their files."""
    series: Path | None = None
    """List or table of cases, as ``draw`` writes it; restricts and orders the cases."""
    lists_images: bool = False
    """Whether images are only listed with their digests, and not copied."""
    cases: Path | None = None
    """Table of cases, if the reference has none."""
    nodules: Path | None = None
    """Table of further facts about the nodules."""
    answers: Path | None = None
    """People's statements for the datasheet, TOML."""
    name: str = ""
    """New name of the set; empty: the name of the reference."""


def write_bundle(options: BundleOptions, progress: Progress = no_progress) -> BundleReport:
    """Write a test set as a bag into a new folder, completely or not at all."""
    truth = _read_truth(options)
    truth = replace(truth, name=options.name or truth.name)
    series, curated = options.series, options.curated
    if series is not None:
        truth = truth.restricted(read_case_list(series), series.name)
    stated, documents = bundle_contents(options.reference, options.answers)
    if series is not None and draw_record(series).is_file():
        documents[DRAW] = read_json(draw_record(series))
    if curated is not None:
        documents[CURATION] = _without_folder(read_json(curated / SUMMARY))
    chosen = _chosen_images(options, truth.cases["case_id"].to_list())
    with staged_folder(options.out, is_new=True) as stage:
        payload = stage / PAYLOAD
        write_reference(truth, payload)
        for name, document in documents.items():
            write_json(document, payload / name)
        if chosen is not None and options.lists_images:
            write_csv(_image_list(chosen, progress), payload / IMAGE_LIST)
        elif chosen is not None:
            _copy_images(chosen, payload / IMAGES, progress)
        where = f"{PAYLOAD}/{IMAGES}/"
        if options.lists_images:
            where = f"listed in {PAYLOAD}/{IMAGE_LIST}"
        statement = f"{len(chosen.files)} image files, {where}." if chosen and chosen.files else ""
        evidence = evidence_answers(documents)
        sheet = make_datasheet(truth, stated, images=statement, evidence=evidence)
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
    files = () if chosen is None else chosen.files
    known = {file.case_id for file in files}
    lacking = (
        ()
        if chosen is None
        else (case_id for case_id in truth.cases["case_id"] if case_id not in known)
    )
    return BundleReport(
        truth.name,
        truth.cases.height,
        len(files),
        tuple(lacking),
        tuple(sheet.gaps),
        passed_over=0 if chosen is None else chosen.passed_over,
        notices=truth.notices,
    )


def _read_truth(options: BundleOptions) -> Reference:
    cases, nodules = options.cases, options.nodules
    if cases is not None or options.curated is None:
        return read_reference(options.reference, cases=cases, nodules=nodules)
    known = read_cases(options.curated)
    without_facts = known.drop(SCAN_FACTS, strict=False)
    truth = read_reference(options.reference, cases=without_facts, nodules=nodules)
    described, notices = described_by(truth.cases, known)
    return replace(truth, cases=described, notices=(*truth.notices, *notices))


def bundle_contents(reference: Path, answers: Path | None) -> tuple[dict[str, str], JsonObject]:
    """Return people's answers (those of the file ``answers`` first) and documents of origin."""
    sheet = reference / DATASHEET
    stated = stated_answers(read_json(sheet)) if sheet.is_file() else {}
    if answers is not None:
        stated |= parse_answers(answers.read_text(encoding="utf-8"), str(answers))
    tables = reference / PAYLOAD if is_bag(reference) else reference
    paths = {name: tables / name for name in DOCUMENTS}
    return stated, {name: read_json(path) for name, path in paths.items() if path.is_file()}


def _without_folder(curation: object) -> object:
    if not isinstance(curation, dict):
        return curation
    return {name: value for name, value in curation.items() if name != "folder"}


def image_problems(bundle: Path, images: Path) -> list[Problem]:
    listed = bundle / PAYLOAD / IMAGE_LIST
    if not listed.is_file():
        return [Problem(str(listed), "does not exist: the set does not list its images.")]
    problems = []
    file = CsvFile(listed)
    rows = file.read_strings(file.header())
    for row in rows.iter_rows(named=True):
        path = images / row["path"]
        if not path.is_file():
            problems.append(Problem(str(path), f"is listed in {IMAGE_LIST}, but does not exist."))
        elif file_digest(path) != row["digest"]:
            problems.append(Problem(str(path), f"is not the file that {IMAGE_LIST} lists."))
    return problems


def _chosen_images(options: BundleOptions, case_ids: list[str]) -> SetImages | None:
    if options.curated is not None:
        return curated_images(options.curated, options.images, case_ids)
    return None if options.images is None else images_in(options.images, case_ids)


def _copy_images(images: SetImages, target: Path, progress: Progress) -> None:
    for number, file in enumerate(images.files, start=1):
        (target / file.name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.path, target / file.name)
        progress("images", number, len(images.files))


def _image_list(images: SetImages, progress: Progress) -> pl.DataFrame:
    rows = []
    for number, file in enumerate(images.files, start=1):
        name = file.path.relative_to(images.folder).as_posix()
        rows.append((file.case_id, name, file.path.stat().st_size, file_digest(file.path)))
        progress("images", number, len(images.files))
    return pl.DataFrame(rows, schema=["case_id", "path", "bytes", "digest"], orient="row")
