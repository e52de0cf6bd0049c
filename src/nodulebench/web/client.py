"""A program's door to a portal: check and submit marks, follow the score, read leaderboards.

    portal = Client("https://bench.example", token="…")
    (benchmark,) = portal.benchmarks()
    print(portal.check(benchmark.id, Path("marks.csv")).problems)
    entry = portal.wait(portal.submit(benchmark.id, Path("marks.csv"), name="My CAD").id)

The records are what the portal's interface says, version 1; the portal itself makes them of these.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from time import monotonic, sleep
from typing import Any, BinaryIO, Literal, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from pydantic import BaseModel, ConfigDict, TypeAdapter

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject

API = "/api/v1"
ENDED = ("done", "failed", "cancelled")
TIMEOUT_S = 600.0


class ServerModel(BaseModel):
    """What the interface says; what a later version adds is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RuleFileInfo(ServerModel):
    """A file that a benchmark asks for: its version, digest, and how much is in it."""

    version: int
    digest: str
    count: int


class BenchmarkInfo(ServerModel):
    """A benchmark."""

    id: str
    title: str
    about: str
    protocol: str
    is_sealed: bool
    state: Literal["before", "open", "closed"]
    opens_at: datetime | None
    closes_at: datetime | None
    version: int = 1
    scorer: str = ""
    """The version of NoduleBench that scores."""
    protocol_digest: str = ""
    tracks: tuple[str, ...] = ("detection",)
    cross_validates: bool = False
    """Whether who trained on the test set has to cross-validate."""
    rule_files: dict[str, RuleFileInfo] = {}
    """``candidates``, ``folds`` and ``plan``, where there are any."""


class FileInfo(ServerModel):
    """A file that is released for a benchmark."""

    path: str
    """Where it is, after the address of the portal."""
    name: str
    """Its place among the files."""
    kind: str
    size: int
    digest: str
    """SHA-256, and the tag of the answer; nothing: it is being made, ask later."""


class ReadingInfo(ServerModel):
    """A metric under a rule, at a point where it is read at several, with its interval."""

    rule: str
    metric: str
    point: str
    stratum: str = ""
    """A part of the cohort; nothing: the whole."""
    value: float | None
    low: float | None
    high: float | None


class LineInfo(ServerModel):
    """An entry on a leaderboard."""

    rank: int | None
    best_rank: int | None = None
    worst_rank: int | None = None
    """The interval of the rank; None: it was not made, or not for this metric."""
    group: str = ""
    """Entries of the same group cannot be told apart from its best."""
    entry: str
    name: str
    by: str
    """Nothing where names are kept back."""
    at: datetime
    is_baseline: bool
    is_withdrawn: bool
    training: str = ""
    """Trained on the test set: no, folds (cross-validated), yes; nothing: not said."""
    folds: int = 0
    verdict: str | None = None
    """passed, failed or undecided by the acceptance criteria; None: there are none."""
    verdict_reason: str = ""
    """Why the verdict is undecided, in English; nothing: it is decided."""
    readings: tuple[ReadingInfo, ...]


class BoardInfo(ServerModel):
    """A leaderboard under one rule, ordered by one metric."""

    benchmark: str
    version: int
    tracks: tuple[str, ...] = ("detection",)
    track: str = "detection"
    rules: tuple[str, ...]
    rule: str
    strata: tuple[str, ...] = ()
    stratum: str = ""
    metric: str
    lines: tuple[LineInfo, ...]


class ProblemInfo(ServerModel):
    """One thing wrong with a file: where, what was found, and what to do."""

    where: str
    what: str
    remedy: str


class CheckInfo(ServerModel):
    """What was found in a file without scoring it."""

    format: str
    marks: int
    cases: int
    problems: tuple[ProblemInfo, ...]
    notices: tuple[str, ...]
    """What may be wrong, in English."""
    candidates: str = ""
    """Digest of the list that had to be scored; nothing: the track has none."""


class EntryInfo(ServerModel):
    """An entry, and how far its scoring is."""

    id: str
    benchmark: str
    name: str
    at: datetime
    digest: str
    state: Literal["waiting", "running", "done", "failed", "cancelled", "withdrawn"]
    problems: tuple[str, ...]
    readings: tuple[ReadingInfo, ...]
    track: str = "detection"
    """With the version of its candidate list, where it has one."""
    accepted_rules: JsonObject = {}
    """Under what it was taken: candidates, training on the test set."""
    digests: dict[str, str] = {}
    """Of what it was scored with, where that is told."""
    verdict: str | None = None
    """passed, failed or undecided by the acceptance criteria; None: there are none."""
    verdict_reason: str = ""
    """Why the verdict is undecided, in English; nothing: it is decided."""
    receipt: JsonObject | None
    """Signed by the portal; only for whose entry it is."""


Kind = TypeVar("Kind")


class Client:
    """A portal, as a program sees it."""

    def __init__(self, address: str, token: str = "") -> None:
        """Name a portal.

        Args:
            address: as people open it, ``https://bench.example``.
            token: made on the page of one's account; nothing: only what is public.
        """
        self.address = address.rstrip("/")
        self._token = token

    def benchmarks(self) -> tuple[BenchmarkInfo, ...]:
        """Every benchmark that can be seen."""
        return self._asked(tuple[BenchmarkInfo, ...], "/benchmarks")

    def leaderboard(self, benchmark: str, *, rule: str = "", metric: str = "") -> BoardInfo:
        """The leaderboard of a benchmark, under a rule and ordered by a metric."""
        query = {"rule": rule, "metric": metric}
        return self._asked(BoardInfo, f"/benchmarks/{benchmark}/leaderboard", query)

    def files(self, benchmark: str) -> tuple[FileInfo, ...]:
        """What is released for a benchmark."""
        return self._asked(tuple[FileInfo, ...], f"/benchmarks/{benchmark}/files")

    def download(self, file: FileInfo, folder: Path) -> Path:
        """Download a released file under its name; one that broke off goes on where it was.

        Raises:
            InputError: if it cannot be had, or is not what its digest says.
        """
        path = folder.joinpath(*PurePosixPath(file.name).parts)
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError.at(file.name, "lies outside of the folder.", "Do not trust it.")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{path.name}.part")
        done = part.stat().st_size if part.exists() else 0
        if done < file.size or not file.size:
            headers = {"Range": f"bytes={done}-", "If-Range": f'"{file.digest}"'} if done else {}
            with self._opened(f"{self.address}{file.path}", headers) as answer:
                is_rest = answer.status == HTTPStatus.PARTIAL_CONTENT
                with part.open("ab" if is_rest else "wb") as target:
                    shutil.copyfileobj(answer, target)
        with part.open("rb") as target:
            digest = "sha256:" + hashlib.file_digest(target, "sha256").hexdigest()
        if digest != file.digest:
            part.unlink()
            raise InputError.at(file.name, "is not what its digest says.", "Download it again.")
        part.replace(path)
        return path

    def check(self, benchmark: str, marks: Path) -> CheckInfo:
        """What is wrong with a file of marks; nothing is scored or kept."""
        path = f"/benchmarks/{benchmark}/check"
        return self._asked(CheckInfo, path, {"file": marks.name}, marks)

    def submit(self, benchmark: str, marks: Path, *, name: str, **declared: str) -> EntryInfo:
        """Send marks in.

        Args:
            benchmark: its id.
            marks: the file.
            name: of the algorithm.
            declared: ``about``, ``training`` and ``link``: what there is to say of it.
        """
        query = {"file": marks.name, "name": name, **declared}
        return self._asked(EntryInfo, f"/benchmarks/{benchmark}/entries", query, marks)

    def entry(self, entry: str) -> EntryInfo:
        """How an entry stands."""
        return self._asked(EntryInfo, f"/entries/{entry}")

    def wait(self, entry: str, *, timeout_s: float = 3600.0, every_s: float = 1.0) -> EntryInfo:
        """An entry when its scoring has ended.

        Raises:
            InputError: if it has not in that time.
        """
        until = monotonic() + timeout_s
        while True:
            current = self.entry(entry)
            if current.state in (*ENDED, "withdrawn"):
                return current
            if monotonic() > until:
                raise InputError.at(entry, f"was not scored within {timeout_s:g} s.", "Ask later.")
            sleep(every_s)

    def _asked(
        self,
        kind: type[Kind],
        path: str,
        query: Mapping[str, str] | None = None,
        body: Path | None = None,
    ) -> Kind:
        """What the portal answers.

        Raises:
            InputError: if it cannot be reached, or refuses.
        """
        url = f"{self.address}{API}{path}?{urlencode(query or {})}"
        if body is None:
            with self._opened(url) as answer:
                return TypeAdapter(kind).validate_json(answer.read())
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(body.stat().st_size),
        }
        with body.open("rb") as file, self._opened(url, headers, file) as answer:
            return TypeAdapter(kind).validate_json(answer.read())

    @contextmanager
    def _opened(
        self, url: str, headers: Mapping[str, str] | None = None, body: BinaryIO | None = None
    ) -> Iterator[Any]:
        """An answer of the portal, to be read."""
        if not url.startswith(("https://", "http://")):
            raise InputError.at(self.address, "is no address of a portal.", "https://…")
        signed = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        method = "GET" if body is None else "POST"
        request = Request(url, body, {**signed, **(headers or {})}, method=method)  # noqa: S310
        try:
            with urlopen(request, timeout=TIMEOUT_S) as answer:  # noqa: S310 - checked above
                yield answer
        except HTTPError as error:
            message = _refusal(error)
            raise InputError.at(self.address, message or f"answered {error.code}.") from error
        except URLError as error:
            raise InputError.at(self.address, f"cannot be reached: {error.reason}.") from error


def _refusal(error: HTTPError) -> str:
    """What a portal says of why it refused."""
    try:
        answer = json.loads(error.read())
    except ValueError:
        return ""
    return str(answer.get("message", "")) if isinstance(answer, dict) else ""
