"""File layout of a sealed set: everything is sealed except images and what a run needs."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from nodulebench.custody.policy import Compartment
from nodulebench.imaging.geometry import GEOMETRY_COLUMNS, SIZE

AUDIT, RESULTS, CHANGES = "audit", "results", "changes"
"""Folders of a sealed set that grow after signing; the log protects them."""
HEAD = f"{AUDIT}/head.json"
VAULT, POLICY = "vault.json", "policy.toml"
PAYLOAD, IMAGES, SECRETS = "data", "images", "data/sealed"
IMAGE_LIST = "images.csv"
"""The image files of each case, if a set only lists its images."""
RUN_CASES = "data/cases.csv"
"""The cases without anything that could disclose nodules: what an algorithm may receive."""
RUN_COLUMNS = ("case_id", *SIZE, *GEOMETRY_COLUMNS, "direction")
SUFFIX = ".sealed"


@dataclass(frozen=True, slots=True)
class SealedPath:
    """A file of the plain set and its path in the sealed set."""

    source: str
    target: str
    is_secret: bool


def sealed_path_of(name: str, *, encrypts_images: bool = False) -> SealedPath:
    """Return where a file goes: images and their list stay plain, everything else is sealed."""
    plain = (IMAGE_LIST,) if encrypts_images else (IMAGES, IMAGE_LIST)
    if PurePosixPath(name).parts[0] in plain:
        return SealedPath(name, f"{PAYLOAD}/{name}", is_secret=False)
    return SealedPath(name, sealed_file(name), is_secret=True)


def sealed_file(name: str) -> str:
    return f"{SECRETS}/{name}{SUFFIX}"


def compartment_of(name: str) -> Compartment:
    top, _, below = name.partition("/")
    if below and top in (RESULTS, IMAGES):
        return "results" if top == RESULTS else "images"
    is_table = not below and (name == "manifest.json" or name.endswith(".parquet"))
    return "reference" if is_table else "archive"


def change_file(digest: str) -> str:
    return f"{CHANGES}/{digest.removeprefix('sha256:')}.json"


def change_stage(digest: str) -> str:
    return f"{CHANGES}/.{digest.removeprefix('sha256:')[:16]}.part"


def event_file(number: int) -> str:
    return f"{AUDIT}/{number:08d}.json"


def result_file(number: int) -> str:
    return f"{RESULTS}/{number:08d}.zip{SUFFIX}"


def grows(name: str) -> bool:
    """Whether a file is in a folder that grows after signing."""
    return PurePosixPath(name).parts[0] in (AUDIT, RESULTS, CHANGES)
