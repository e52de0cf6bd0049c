"""looks.json: from which looks of which sealed set a folder of results was made."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError
from nodulebench.custody.sealed_set import SealedSet
from nodulebench.custody.stored_results import KeptResult
from nodulebench.io.json_files import read_json

LOOKS, SCHEMA = "looks.json", "nodulebench/looks@1"


def looks_note(opened: SealedSet, kept: Sequence[KeptResult], audience: str) -> dict[str, Any]:
    """What looks.json says of a folder that is made from kept results."""
    return {
        "schema": SCHEMA,
        "test_set": opened.name,
        "bundle": opened.bundle,
        "audience": audience,
        "looks": [{"look": one.look, "result": one.digest} for one in kept],
    }


def is_from_looks(folder: Path) -> bool:
    """Whether a folder says that it was made from kept results."""
    return (folder / LOOKS).is_file()


def read_looks(folder: Path) -> dict[str, Any]:
    """From which looks of which sealed set a folder was made.

    Raises:
        InputError: if it does not say so.
    """
    note = read_json(folder / LOOKS)
    if not isinstance(note, dict) or note.get("schema") != SCHEMA or not _names_looks(note):
        raise InputError.at(str(folder / LOOKS), "does not say from which looks it was made.")
    return note


def _names_looks(note: dict[str, Any]) -> bool:
    looks = note.get("looks")
    return (
        note.get("audience") in ("lab", "developer")
        and isinstance(looks, list)
        and bool(looks)
        and all(
            isinstance(one, dict)
            and isinstance(one.get("look"), int)
            and isinstance(one.get("result"), str)
            for one in looks
        )
    )
