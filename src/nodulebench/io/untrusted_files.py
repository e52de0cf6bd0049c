"""Copy the plain files that a program left in ``/output``, or say why they are rejected.

The program may be hostile and may still be writing. So links are not followed, nothing is
waited for, and no more is read than was agreed.
"""

import os
import stat
from pathlib import Path

from nodulebench.core.notices import Notice

MOST_FILES = 2_000
DEEPEST = 4
LONGEST_NAME = 200
_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


class OutputRejectedError(Exception):
    """The output is rejected; ``why`` says why."""

    def __init__(self, why: Notice) -> None:
        super().__init__(why.code)
        self.why = why


def collect(output: Path, taken: Path, most_bytes: int) -> int:
    """Copy what a program wrote into the empty folder ``taken``; return the number of files.

    OutputRejectedError if there is anything but plain files and folders, or too much.
    """
    collector = _Collector(most_bytes)
    top = os.open(output, os.O_RDONLY | os.O_DIRECTORY)
    try:
        collector.take(top, taken, 1)
    finally:
        os.close(top)
    return collector.files


class _Collector:
    def __init__(self, most_bytes: int) -> None:
        self.files = 0
        self.bytes_left = most_bytes

    def take(self, folder: int, taken: Path, depth: int) -> None:
        with os.scandir(folder) as entries:
            names = []
            for entry in entries:
                names.append(entry.name)
                if len(names) + self.files > MOST_FILES:
                    raise OutputRejectedError(Notice("output_many_files", {"most": MOST_FILES}))
        for name in sorted(names):
            if len(os.fsencode(name)) > LONGEST_NAME or not name.isprintable():
                raise OutputRejectedError(Notice("output_odd_name"))
            try:
                mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
                self._copy_entry(folder, name, mode, taken, depth)
            except OSError as error:
                why = {"problem": error.strerror or type(error).__name__}
                raise OutputRejectedError(Notice("output_unread", why)) from error

    def _copy_entry(self, folder: int, name: str, mode: int, taken: Path, depth: int) -> None:
        if stat.S_ISDIR(mode):
            if depth == DEEPEST:
                raise OutputRejectedError(Notice("output_deep", {"most": DEEPEST}))
            below = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=folder)
            try:
                (taken / name).mkdir()
                self.take(below, taken / name, depth + 1)
            finally:
                os.close(below)
            return
        kind = next((words for is_kind, words in _KINDS if is_kind(mode)), None)
        if kind is not None:
            raise OutputRejectedError(Notice("output_no_file", {"kind": kind}))
        file = os.open(name, _FLAGS, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):  # replaced since it was listed
                raise OutputRejectedError(Notice("output_no_file", {"kind": "device"}))
            self._copy(file, taken / name)
        finally:
            os.close(file)
        self.files += 1

    def _copy(self, file: int, target: Path) -> None:
        if os.fstat(file).st_size > self.bytes_left:
            raise OutputRejectedError(Notice("output_large"))
        with target.open("wb") as copy:
            while part := os.read(file, 1 << 20):
                self.bytes_left -= len(part)
                if self.bytes_left < 0:
                    raise OutputRejectedError(Notice("output_large"))
                copy.write(part)


_KINDS = (
    (stat.S_ISLNK, "link"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)
