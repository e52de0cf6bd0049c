"""Reference + images -> a bundle that is a BagIt bag, with a datasheet."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from nodulebench import __version__
from nodulebench.custody.datasheet import make_datasheet, parse_answers
from nodulebench.custody.layout import IMAGE_LIST, IMAGES
from nodulebench.errors import Problem, refuse_any
from nodulebench.formats import read_reference
from nodulebench.formats.bundle import write_reference
from nodulebench.model.progress import Progress, untold
from nodulebench.storage.bag import PAYLOAD, tag_files
from nodulebench.storage.csv_text import without_marks, write_csv
from nodulebench.storage.digest import file_digest
from nodulebench.storage.file_names import shown
from nodulebench.storage.manifest import write_manifest
from nodulebench.storage.staging import staged_folder
from nodulebench.storage.walk import files_below


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


def write_bundle(
    reference: Path,
    out: Path,
    *,
    images: Path | None = None,
    is_copied: bool = True,
    cases: Path | None = None,
    answers: Path | None = None,
    progress: Progress = untold,
) -> BundleReport:
    """Write a test set as a bag into a new folder, whole or not at all.

    Args:
        reference: in any format that holds one.
        out: the new folder.
        images: a folder whose files and subfolders are named by case.
        is_copied: whether the images are copied, or listed with their digests only.
        cases: the table of cases, where the reference has none of its own.
        answers: what people say of the set, TOML.
        progress: told how many images are done.

    Raises:
        InputError: if something cannot be read, or images belong to no case.
    """
    truth = read_reference(reference, cases=cases)
    stated = {}
    if answers is not None:
        stated = parse_answers(answers.read_text(encoding="utf-8"), str(answers))
    owners = {} if images is None else _owners(images, truth.cases["case_id"])
    with staged_folder(out, is_new=True) as stage:
        payload = stage / PAYLOAD
        write_reference(truth, payload)
        if images is not None and is_copied:
            _copy_images(images, owners, payload / IMAGES, progress)
        elif images is not None:
            write_csv(_image_list(images, owners, progress), payload / IMAGE_LIST)
        where = f"{PAYLOAD}/{IMAGES}/" if is_copied else f"listed in {PAYLOAD}/{IMAGE_LIST}"
        told = f"{len(owners)} image files, {where}." if owners else ""
        sheet = make_datasheet(truth, stated, images=told)
        files = sorted(path for path in payload.rglob("*") if path.is_file())
        written = tag_files(
            {path.relative_to(stage).as_posix(): file_digest(path) for path in files},
            payload_bytes=sum(path.stat().st_size for path in files),
            description=f"Test set {truth.name}",
            organization=stated.get("keeper", ""),
            day=datetime.now(UTC).date(),
            agent=f"NoduleBench {__version__}",
            others={
                "datasheet.json": (json.dumps(sheet.to_json(), indent=1) + "\n").encode(),
                "datasheet.md": sheet.to_markdown().encode(),
            },
        )
        for name, content in written.items():
            (stage / name).write_bytes(content)
        write_manifest(stage)
    known = set(owners.values())
    lacking = [name for name in truth.cases["case_id"] if images is not None and name not in known]
    return BundleReport(
        truth.name, truth.cases.height, len(owners), tuple(lacking), tuple(sheet.gaps)
    )


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


def _owners(images: Path, case_ids: pl.Series) -> dict[str, str]:
    """For each image file the case it belongs to: that of its top folder, or of its own name."""
    known = set(case_ids)
    found: dict[str, str] = {}
    problems = []

    def refuse(error: OSError) -> None:
        told = f"cannot be looked into: {error.strerror}."
        problems.append(Problem(shown(str(error.filename)), told))

    for path in sorted(Path(file) for file in files_below(images, refuse)):
        name = path.relative_to(images).as_posix()
        if not path.is_file() or shown(name) != name:
            what = "is no file." if shown(name) == name else "has a name that is not UTF-8."
            problems.append(Problem(shown(str(path)), what, "A bag cannot hold it."))
            continue
        top = name.partition("/")[0]
        # 'a.b.mhd' may be the case 'a.b' or, for 'a.nii.gz', the case 'a'
        candidates = [top, *(top.rsplit(".", parts)[0] for parts in (1, 2))]
        owner = next((one for one in candidates if one in known), None)
        if owner is None:
            problems.append(
                Problem(str(path), "belongs to no case.", "Name files or folders by case_id.")
            )
        else:
            found[name] = owner
    refuse_any(problems)
    return found


def _copy_images(images: Path, owners: dict[str, str], target: Path, progress: Progress) -> None:
    import shutil

    for number, name in enumerate(owners, start=1):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(images / name, target / name)
        progress("images", number, len(owners))


def _image_list(images: Path, owners: dict[str, str], progress: Progress) -> pl.DataFrame:
    rows = []
    for number, (name, owner) in enumerate(owners.items(), start=1):
        path = images / name
        rows.append((owner, name, path.stat().st_size, file_digest(path)))
        progress("images", number, len(owners))
    return pl.DataFrame(rows, schema=["case_id", "path", "bytes", "digest"], orient="row")
