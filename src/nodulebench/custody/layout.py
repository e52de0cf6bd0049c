"""Files of a test set -> which of them are sealed: all but the images and what a run needs."""

from dataclasses import dataclass
from pathlib import PurePosixPath

from nodulebench.imaging.geometry import GEOMETRY_COLUMNS, SIZE

AUDIT, RESULTS = "audit", "results"
"""Folders of a sealed set that grow after it was signed; the log answers for them."""
HEAD = f"{AUDIT}/head.json"
SEALED_NOTE, VAULT, POLICY = "sealed.json", "vault.json", "policy.toml"
PAYLOAD, IMAGES, SECRETS = "data", "images", "data/sealed"
IMAGE_LIST = "images.csv"
"""Which image files belong to which case, where a set only lists them."""
RUN_CASES = "data/cases.csv"
"""The cases without anything that could tell of nodules: what an algorithm may be given."""
RUN_COLUMNS = ("case_id", *SIZE, *GEOMETRY_COLUMNS, "direction")
SUFFIX = ".sealed"
OLDER_FORM = f".json{SUFFIX}"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file of the plain set goes in the sealed one."""

    source: str
    target: str
    is_secret: bool


def place_of(name: str) -> Place:
    """Where a file goes: images and their list stay plain, everything else is sealed."""
    if PurePosixPath(name).parts[0] in (IMAGES, IMAGE_LIST):
        return Place(name, f"{PAYLOAD}/{name}", is_secret=False)
    return Place(name, f"{SECRETS}/{name}{SUFFIX}", is_secret=True)


def event_file(number: int) -> str:
    """The file of an event of the log."""
    return f"{AUDIT}/{number:08d}.json"


def result_file(number: int) -> str:
    """The sealed result of the evaluation whose look is this event."""
    return f"{RESULTS}/{number:08d}.zip{SUFFIX}"


def older_result_file(number: int) -> str:
    """The same as version 0.1 kept it: figures alone."""
    return f"{RESULTS}/{number:08d}{OLDER_FORM}"


def grows(name: str) -> bool:
    """Whether a file belongs to what is added after the set was signed."""
    return PurePosixPath(name).parts[0] in (AUDIT, RESULTS)
