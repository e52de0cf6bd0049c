"""A folder of images in any layout, or a curation -> which file belongs to which case."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from nodulebench.core.errors import Problem, Problems, refuse_any
from nodulebench.core.text import shown
from nodulebench.curation.case_files import read_case_files, tidy_names
from nodulebench.io.folders import files_below


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
    counts = Counter(one.name for one in files)
    problems += [
        Problem(str(one.path), f"would be images/{one.name}, like another.", "Remove one of them.")
        for one in files
        if counts[one.name] > 1
    ]
    refuse_any(problems)
    return FoundImages(folder, tuple(files), len(dicom - by_header.keys()))


def named_owner(name: PurePosixPath, known: set[str]) -> tuple[str, str] | None:
    """The case that a path is named by, and the path from there on; None: none."""
    for at, part in enumerate(name.parts):
        # 'a.b.mhd' may be the case 'a.b' or, for 'a.nii.gz', the case 'a'
        candidates = [part, *(part.rsplit(".", parts)[0] for parts in (1, 2))]
        owner = next((one for one in candidates if one in known), None)
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
