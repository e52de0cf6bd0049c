"""Folder of slices -> how de-identification ends when it is stopped at operations on files.

A separate program, because it forks, as ``builders.killed_sealing`` does.

``python -m builders.killed_deidentify FOLDER`` and one of

    killed   the process is killed at operation 0, run again, looked at; the same at 1, 2, ...
    full     the same, but from that operation on the disk takes nothing more
"""

import errno
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

# imported here, so that the forks need not
import cryptography.hazmat.primitives.ciphers.aead  # noqa: F401
import filelock  # noqa: F401
import pydicom.pixels  # noqa: F401
import scipy.sparse.csgraph  # noqa: F401

from builders.killed_sealing import WATCHED, in_child
from builders.people import person_key
from nodulebench.core.errors import InputError
from nodulebench.curation.deidentify.key_table import read_key_table
from nodulebench.curation.deidentify.service import (
    DeidentifyOptions,
    check_folder,
    deidentify_folder,
)
from nodulebench.io.folders import files_below

KEY = person_key("Ada")
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


def run(folder: Path) -> None:
    """De-identify the folder ``in``."""
    deidentify_folder(
        DeidentifyOptions(
            folder=folder / "in", out=folder / "lab" / "out", key_table=folder / "lab" / "keys"
        ),
        KEY,
    )


def is_stopped_at(folder: Path, operation: int, how: str) -> bool:
    """Run, and be stopped at an operation that changes files; False: it ended before."""
    left = operation

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in WATCHED or str(folder / "lab") not in str(arguments[0]):
            return
        if event == "open" and not int(arguments[2] or 0) & WRITING:
            return
        left -= 1
        if left < 0 and how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if left < 0 and event not in ("os.remove", "os.rmdir"):
            raise OSError(errno.ENOSPC, "No space left on device")

    def work() -> None:
        sys.addaudithook(watch)
        try:
            run(folder)
        except InputError:
            os._exit(1)

    code = in_child(work)
    if code not in (0, 1, -signal.SIGKILL):
        raise AssertionError(f"operation {operation}: it ended with {code}")
    return code != 0


def seen(folder: Path) -> dict[str, Any]:
    """What others would read of the result."""
    out = folder / "lab" / "out"
    names = [Path(file).relative_to(out).as_posix() for file in files_below(out, print)]
    return {"slices": sorted(names), "problems": [str(problem) for problem in check_folder(out)]}


def main(name: str, how: str, step: str) -> None:
    """Run as a program; print what was seen after every stop and after the run that followed.

    It is stopped at its first operation and at every so many after that.
    """
    folder = Path(name)
    answer = folder / "answer.json"
    outcomes: list[dict[str, Any]] = []

    def complete() -> None:
        after = seen(folder) if (folder / "lab" / "out").is_dir() else {"slices": []}
        run(folder)
        report = {
            "stopped": after["slices"],
            **seen(folder),
            "patients": [row["patient"] for row in read_key_table(folder / "lab/keys", KEY)],
            "left": [path.name for path in (folder / "lab").rglob(".*")],
        }
        answer.write_text(json.dumps(report))

    while is_stopped_at(folder, int(step) * len(outcomes), how):
        if in_child(complete):
            outcomes.append({"problems": ["it could not be completed"]})
        else:
            outcomes.append(json.loads(answer.read_text()))
        shutil.rmtree(folder / "lab", ignore_errors=True)
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
