"""The Python client of a portal: check and submit marks, follow the score, read leaderboards.

    portal = Client("https://bench.example", token="…")
    (benchmark,) = portal.benchmarks()
    print(portal.check(benchmark.id, Path("marks.csv")).problems)
    entry = portal.wait(portal.submit(benchmark.id, Path("marks.csv"), name="My CAD").id)

The records are version 1 of the portal's API; the portal itself answers with these classes.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from http import HTTPStatus
from http.client import HTTPResponse
from pathlib import Path, PurePosixPath
from time import monotonic, sleep
from typing import BinaryIO, Literal, TypeVar
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
    """A record of the API; unknown fields of a later version are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class RuleFileInfo(ServerModel):
    """A rule file of a benchmark: its version, digest, and number of rows or criteria."""

    version: int
    digest: str
    count: int


class BenchmarkInfo(ServerModel):
    """A benchmark as users see it."""

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
    """Version of NoduleBench that scores."""
    protocol_digest: str = ""
    tracks: tuple[str, ...] = ("detection",)
    cross_validates: bool = False
    """Whether participants who trained on the test set must cross-validate."""
    rule_files: dict[str, RuleFileInfo] = {}
    """``candidates``, ``folds`` and ``plan``, where the benchmark has them."""


class FileInfo(ServerModel):
    """A file that can be downloaded for a benchmark."""

    path: str
    """URL path of the download on the portal."""
    name: str
    """Path within the released files."""
    kind: str
    size: int
    digest: str
    """SHA-256, also the ETag of the download; empty: not computed yet, ask later."""


class ReadingInfo(ServerModel):
    """A metric under a rule, at one operating point if it has several, with its interval."""

    rule: str
    metric: str
    point: str
    stratum: str = ""
    """A part of the cohort; empty: the whole cohort."""
    value: float | None
    low: float | None
    high: float | None


class LineInfo(ServerModel):
    """An entry on a leaderboard."""

    rank: int | None
    best_rank: int | None = None
    worst_rank: int | None = None
    """The interval of the rank; None: not computed yet, or not for this metric."""
    group: str = ""
    """Entries of a group do not differ significantly from the best of the group."""
    entry: str
    name: str
    by: str
    """Empty where names are hidden."""
    at: datetime
    is_baseline: bool
    is_withdrawn: bool
    training: str = ""
    """Trained on the test set: no, folds (cross-validated), yes; empty: not stated."""
    folds: int = 0
    verdict: str | None = None
    """passed, failed or undecided by the acceptance criteria; None: no criteria."""
    verdict_reason: str = ""
    """Why the verdict is undecided, in English; empty: it is decided."""
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
    """A problem of a file: where it is, what is wrong, and what to do."""

    where: str
    what: str
    remedy: str


class CheckInfo(ServerModel):
    """The result of checking a file without scoring it."""

    format: str
    marks: int
    cases: int
    problems: tuple[ProblemInfo, ...]
    notices: tuple[str, ...]
    """Warnings, in English."""
    candidates: str = ""
    """Digest of the candidate list that must be scored; empty: the track has no list."""


class EntryInfo(ServerModel):
    """An entry and the state of its scoring."""

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
    """Rules under which it was accepted: candidates, and training on the test set."""
    digests: dict[str, str] = {}
    """Digests of the files it was scored with, as far as they are disclosed."""
    verdict: str | None = None
    """passed, failed or undecided by the acceptance criteria; None: no criteria."""
    verdict_reason: str = ""
    """Why the verdict is undecided, in English; empty: it is decided."""
    receipt: JsonObject | None
    """Signed by the portal; only the owner of the entry receives it."""


Kind = TypeVar("Kind")


class Client:
    """A connection to a portal."""

    def __init__(self, address: str, token: str = "") -> None:
        """Configure the connection; without a token only public data can be read."""
        self.address = address.rstrip("/")
        self._token = token

    def benchmarks(self) -> tuple[BenchmarkInfo, ...]:
        """Return all visible benchmarks."""
        return self._asked(tuple[BenchmarkInfo, ...], "/benchmarks")

    def leaderboard(self, benchmark: str, *, rule: str = "", metric: str = "") -> BoardInfo:
        """Return the leaderboard of a benchmark under a rule, ordered by a metric."""
        query = {"rule": rule, "metric": metric}
        return self._asked(BoardInfo, f"/benchmarks/{benchmark}/leaderboard", query)

    def files(self, benchmark: str) -> tuple[FileInfo, ...]:
        """Return the files released for a benchmark."""
        return self._asked(tuple[FileInfo, ...], f"/benchmarks/{benchmark}/files")

    def download(self, file: FileInfo, folder: Path) -> Path:
        """Download a file under its name, continue if interrupted, and check its digest."""
        path = folder.joinpath(*PurePosixPath(file.name).parts)
        if not path.resolve().is_relative_to(folder.resolve()):
            raise InputError.at(file.name, "is outside of the folder.", "Do not trust it.")
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
        """Check a file of marks; nothing is scored or stored."""
        path = f"/benchmarks/{benchmark}/check"
        return self._asked(CheckInfo, path, {"file": marks.name}, marks)

    def submit(self, benchmark: str, marks: Path, *, name: str, **declared: str) -> EntryInfo:
        """Submit marks of the algorithm ``name``; ``declared`` are texts: about, training, link."""
        query = {"file": marks.name, "name": name, **declared}
        return self._asked(EntryInfo, f"/benchmarks/{benchmark}/entries", query, marks)

    def entry(self, entry: str) -> EntryInfo:
        """Return an entry with its current state."""
        return self._asked(EntryInfo, f"/entries/{entry}")

    def wait(self, entry: str, *, timeout_s: float = 3600.0, every_s: float = 1.0) -> EntryInfo:
        """Wait until the scoring of an entry has ended, and return the entry."""
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
    ) -> Iterator[HTTPResponse]:
        if not url.startswith(("https://", "http://")):
            raise InputError.at(
                self.address, "is not the address of a portal.", "Begin with https://."
            )
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
    try:
        answer = json.loads(error.read())
    except ValueError:
        return ""
    return str(answer.get("message", "")) if isinstance(answer, dict) else ""
