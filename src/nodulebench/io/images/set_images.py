"""A test set on disk -> its cases with their images: of a bundle, a bag or a sealed set."""

from pathlib import Path

from nodulebench.core.errors import InputError
from nodulebench.io.bag import PAYLOAD
from nodulebench.io.case_lists import case_table_of
from nodulebench.io.case_names import IMAGE_SUFFIXES, case_of_image
from nodulebench.io.images.case_images import image_reader
from nodulebench.io.table_files import read_cases

IMAGES = "images"


def images_folder(folder: Path) -> Path | None:
    """Where a test set keeps the images of its cases; None: it is none, or has none."""
    places = (folder / IMAGES, folder / PAYLOAD / IMAGES)
    return next((place for place in places if place.is_dir()), None)


def images_of_set(folder: Path) -> list[tuple[str, Path]]:
    """The cases of a test set with their images; the table of cases drives where there is one.

    Raises:
        InputError: if a case has no image, or there is none at all.
    """
    images = images_folder(folder) or folder / IMAGES
    by_name: dict[str, Path] = {}
    for path in sorted(images.iterdir()):
        if path.is_dir() or path.name.endswith(IMAGE_SUFFIXES):
            by_name.setdefault(case_of_image(path.name), path)
    table = case_table_of(folder)
    wanted = read_cases(table)["case_id"].to_list() if table else list(by_name)
    for case_id in wanted:
        if case_id not in by_name:
            image_reader(images)(case_id)  # says what was looked for
    if not wanted:
        raise InputError.at(str(images), "holds no image.", "Put one image per case there.")
    return [(case_id, by_name[case_id]) for case_id in wanted]
