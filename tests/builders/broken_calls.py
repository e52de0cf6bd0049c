"""Commands of the jobs to break off: most are the program's own, some are substitutes.

A command that listens or asks over a network gets an archive on the disk instead. Scans that are
made or read are the same in every run: they are cached outside the folder of the job.
"""

import json
import pickle
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from builders.broken_folders import SCORED
from builders.broken_jobs import CARELESS, OPEN, SENT
from nodulebench.cli import main as nodulebench_main
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.custody.verify import verify_sealed
from nodulebench.io.atomic import UNFINISHED
from nodulebench.security.keys import read_private_key

ARCHIVE, RECEIVED = Path("archive"), Path("received")
ORIGINALS: dict[str, Callable[..., Any]] = {}
"""The original functions of those whose results are cached."""
CHANCE = re.compile(
    "(?<=case-)[0-9a-f]{16}|[0-9a-f]{32,}|[0-9.]{30,}|P-[0-9A-F]{10}|(?<=results/)[0-9]{8}"
)
"""Digests, UIDs, pseudonyms, the numbers of events: other ones in every run."""


def exit_code(command: str) -> int:
    """How a command ends that is given here."""
    if command in SUBSTITUTES:
        return SUBSTITUTES[command]()
    for word in command.split()[:2]:
        PREPARED.get(word, int)()
    try:
        nodulebench_main(shlex.split(command))
    except SystemExit as end:
        return int(end.code or 0)


def _fetch_from_archive() -> None:
    import nodulebench.curation.pacs as workflow

    workflow.client_of = lambda *_: ArchiveClient()  # type: ignore[assignment]


def _cut_here() -> None:
    """Cut the examples of a job once, in this process, as its command asks for."""
    import nodulebench.detection.examples as module

    worked = module._worked
    name = "nodulebench.detection.examples._worked"
    ORIGINALS.setdefault(name, lambda *given: [*worked(*given)])
    _keep(module, "_worked")


def _keep_scans() -> None:
    import nodulebench.phantom.test_set as module

    for name in ("make_patient", "_make_case"):
        _keep(module, name)


def _make_small_demo() -> None:
    import nodulebench.demo as module
    from nodulebench.core.protocol import load_protocol

    _keep_scans()
    for name in ("_make", "_read"):
        _keep(module, name)
    small = {"matrix": 64, "bootstraps": 10, "processes": 1, "types": ("solid",)}
    module.DemoChoice = partial(module.DemoChoice, **small)
    module.demo_protocol = lambda _: load_protocol("luna16").model_copy(update={"strata": ()})
    module.MOST_PER_SCAN = 3


def _keep(module: Any, name: str) -> None:
    """Let what a function of a module makes be made once, and read then; it is called in turn."""
    make = ORIGINALS.setdefault(f"{module.__name__}.{name}", getattr(module, name))
    numbers, folder = count(), Path.cwd().parent

    def made(*given: Any, **more: Any) -> Any:
        file = folder / f"{name}-{next(numbers)}.pickle"
        if not file.exists():
            file.write_bytes(pickle.dumps(make(*given, **more)))
        return pickle.loads(file.read_bytes())  # noqa: S301 - written above

    setattr(module, name, made)


def listen() -> int:
    """Keep every file of an archive as a listener does that is sent it; 1 if one is refused."""
    from nodulebench.curation.pacs import _stored

    refused = []
    for sent in sent_objects():
        event = SimpleNamespace(dataset=sent, file_meta=sent.file_meta)
        if _stored(event, RECEIVED, lambda text: sys.stdout.write(f"error: {text}\n")):
            refused.append(sent)
    return int(bool(refused))


def sent_objects() -> Iterator[Any]:
    """The objects of the archive."""
    import pydicom

    for path in sorted(ARCHIVE.rglob("*.dcm")):
        yield pydicom.dcmread(path)


class ArchiveClient:
    """A client of a server that has the archive."""

    base_url = "http://pacs.example/dicom-web"

    def search_for_series(self, **_: object) -> list[dict[str, Any]]:
        """Every series, as such a server answers."""
        tags = {"0020000D": "StudyInstanceUID", "0020000E": "SeriesInstanceUID"}
        calls = {}
        for object_ in sent_objects():
            answer = {tag: {"Value": [str(object_[name].value)]} for tag, name in tags.items()}
            calls[str(object_.SeriesInstanceUID)] = answer
        return [*calls.values()]

    def iter_series(self, _study: str, series: str, **_: object) -> Iterator[Any]:
        """The objects of a series."""
        return (object_ for object_ in sent_objects() if series == object_.SeriesInstanceUID)


def open_set() -> int:
    """Open a sealed set and verify it."""
    sealed = Path("sealed")
    open_sealed(sealed, read_private_key(Path("cem.key")), None)
    problems = verify_sealed(sealed).problems
    sys.stdout.write("\n".join(map(str, problems)))
    return int(bool(problems))


def state(folder: Path, uncounted: tuple[str, ...] = ()) -> list[str]:
    """The names of files that count, without chance; locks and what killed runs left do not."""
    names = []
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder)
        is_left = any(UNFINISHED.fullmatch(part) for part in name.parts)
        if path.is_file() and not is_left and not re.fullmatch(r"\..+\.lock", path.name):
            names.append(CHANCE.sub("#", name.as_posix()))
    return sorted(name for name in names if not name.startswith(uncounted))


def send_back() -> int:
    """Mark the first case that went out, as its developer knows it."""
    name = json.loads(Path("exchange.json").read_text())["cases"][0]["name"]
    Path("sent.csv").write_text(f"{SCORED}{name},1,2,3,0.9\n")
    return 0


def careless() -> int:
    """Write a new event each time, and a file in two halves; report no failure."""
    try:
        number = len([*Path().glob("event-*")])
        Path(f"event-{number}").write_text("done")
        Path("halves.txt").write_text("half")
        with Path("halves.txt").open("a") as file:
            file.write(" and half")
    except OSError:
        return 1
    return 0


def careless_check() -> int:
    """Whether the file is whole."""
    return int(Path("halves.txt").read_text() != "half and half")


SUBSTITUTES = {
    "receive listen": listen,
    OPEN: open_set,
    SENT: send_back,
    CARELESS.command: careless,
    CARELESS.check: careless_check,
}
PREPARED: dict[str, Callable[[], object]] = {
    "fetch": _fetch_from_archive,
    "examples": _cut_here,
    "phantom": _keep_scans,
    "demo": _make_small_demo,
}
"""What is done before a command, by a word of it."""
