"""Files of a test set -> which of them are sealed: all but the images and what a run needs."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from nodulebench.custody.policy import Compartment
from nodulebench.imaging.geometry import GEOMETRY_COLUMNS, SIZE

AUDIT, RESULTS, CHANGES = "audit", "results", "changes"
"""Folders of a sealed set that grow after it was signed; the log answers for them."""
HEAD = f"{AUDIT}/head.json"
VAULT, POLICY = "vault.json", "policy.toml"
PAYLOAD, IMAGES, SECRETS = "data", "images", "data/sealed"
IMAGE_LIST = "images.csv"
"""Which image files belong to which case, where a set only lists them."""
RUN_CASES = "data/cases.csv"
"""The cases without anything that could tell of nodules: what an algorithm may be given."""
RUN_COLUMNS = ("case_id", *SIZE, *GEOMETRY_COLUMNS, "direction")
SUFFIX = ".sealed"


@dataclass(frozen=True, slots=True)
class SealedPath:
    """Where a file of the plain set goes in the sealed one."""

    source: str
    target: str
    is_secret: bool


def sealed_path_of(name: str, *, encrypts_images: bool = False) -> SealedPath:
    """Where a file goes: a list of images stays plain, everything else is sealed.

    Args:
        name: of a file of the plain set.
        encrypts_images: whether the images are sealed, too.
    """
    plain = (IMAGE_LIST,) if encrypts_images else (IMAGES, IMAGE_LIST)
    if PurePosixPath(name).parts[0] in plain:
        return SealedPath(name, f"{PAYLOAD}/{name}", is_secret=False)
    return SealedPath(name, sealed_file(name), is_secret=True)


def sealed_file(name: str) -> str:
    """Where a file of the plain set lies if it is sealed."""
    return f"{SECRETS}/{name}{SUFFIX}"


def compartment_of(name: str) -> Compartment:
    """The room whose key seals something, by the name under which it is sealed."""
    top, _, below = name.partition("/")
    if below and top in (RESULTS, IMAGES):
        return "results" if top == RESULTS else "images"
    is_table = not below and (name == "manifest.json" or name.endswith(".parquet"))
    return "reference" if is_table else "archive"


def change_file(digest: str) -> str:
    """What lists the files of a change."""
    return f"{CHANGES}/{digest.removeprefix('sha256:')}.json"


def change_stage(digest: str) -> str:
    """Where the files of a change lie until they are in their places."""
    return f"{CHANGES}/.{digest.removeprefix('sha256:')[:16]}.part"


def event_file(number: int) -> str:
    """The file of an event of the log."""
    return f"{AUDIT}/{number:08d}.json"


def result_file(number: int) -> str:
    """The sealed result of the evaluation whose look is this event."""
    return f"{RESULTS}/{number:08d}.zip{SUFFIX}"


def grows(name: str) -> bool:
    """Whether a file belongs to what is added after the set was signed."""
    return PurePosixPath(name).parts[0] in (AUDIT, RESULTS, CHANGES)
