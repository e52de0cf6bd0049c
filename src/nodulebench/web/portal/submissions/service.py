"""Entries: store uploads, accept submissions with a signed receipt, and decide who sees what."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import func, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.json_types import JsonObject
from nodulebench.io.atomic import make_folder, settle_all
from nodulebench.io.manifests import file_digest
from nodulebench.security.statements import signed_statement
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.rules import AcceptedRules, Answer, Training
from nodulebench.web.portal.benchmarks.service import rules_of, state_of
from nodulebench.web.portal.database.database import UNREACHED
from nodulebench.web.portal.database.models import Benchmark, Entry, Result, new_id, now
from nodulebench.web.portal.middleware import free_bytes
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.archive import (
    CHUNK,
    MAX_BYTES,
    inside_of,
    is_archive,
    unpack,
)
from nodulebench.web.portal.submissions.jobs import enqueue

MAX_NAME = 80
RECEIPT = "nodulebench/receipt@1"
UNPACKED = "unpacked"
LEFT_S = 24 * 3600
"""Older uploads without an entry are deleted."""
ALGORITHM, MANIFEST = "algorithm", "algorithm.toml"


@dataclass(frozen=True, slots=True)
class Upload:
    """An uploaded file in the storage of the site."""

    entry: str
    """The id that its entry will have."""
    path: Path
    digest: str
    size: int
    by: str = ""


@contextmanager
def store_upload(site: Site, name: str, content: BinaryIO, by: str = "") -> Iterator[Upload]:
    """Store an upload; remove it after the block unless it has become an entry."""
    entry = new_id()
    folder = site.upload(entry)
    make_folder(folder)
    path = folder / file_name(name)
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(content, file, CHUNK)
        if path.stat().st_size > site.settings.largest_upload:
            raise DeniedError("too_large", 413)
        yield Upload(entry, path, file_digest(path), path.stat().st_size, by)
    except UNREACHED:  # it may have become an entry; otherwise the sweep removes it
        raise
    except BaseException:
        _forget_unless_entry(site, entry)
        raise
    _forget_unless_entry(site, entry)


def _forget_unless_entry(site: Site, entry: str) -> None:
    with site.database.reading() as session:
        is_entry = session.get(Entry, entry) is not None
    if not is_entry:
        shutil.rmtree(site.upload(entry), ignore_errors=True)


def file_name(given: str) -> str:
    """A safe name for an uploaded file that keeps its suffixes."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", given.replace("\\", "/").rpartition("/")[2])
    return plain.lstrip(".")[-100:].lstrip(".") or "marks"


def marks_of(path: Path) -> Path:
    """The uploaded file or folder of marks; an archive is unpacked next to it, once."""
    if not is_archive(path):
        return path
    folder = path.parent / UNPACKED
    if folder.is_dir():
        return inside_of(folder)
    return unpack(path, folder, min(MAX_BYTES, free_bytes(path.parent)))


def forget_unpacked(site: Site, entry: str) -> None:
    """Remove the unpacked files of a scored entry; the archive remains."""
    shutil.rmtree(site.upload(entry) / UNPACKED, ignore_errors=True)


def sweep_uploads(site: Site) -> int:
    """Remove uploads without an entry that killed servers left behind; return their number."""
    folder, before = site.settings.storage / "uploads", now().timestamp() - LEFT_S
    old = [path for path in folder.glob("*") if path.stat().st_mtime < before]
    with site.database.reading() as session:
        left = [folder for folder in old if session.get(Entry, folder.name) is None]
    for upload in left:
        shutil.rmtree(upload, ignore_errors=True)
    return len(left)


def algorithm_of(path: Path) -> Path | None:
    """The folder of a submitted algorithm; None if marks were submitted."""
    marks = marks_of(path)
    is_algorithm = (
        marks.is_dir() and (marks / MANIFEST).is_file() and not any(marks.glob("marks.*"))
    )
    return marks if is_algorithm else None


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmitOptions:
    """What a participant states about a submission; the form and the API both fill it."""

    name: str
    about: str = ""
    training: str = ""
    link: str = ""
    track: str = "detection"
    trained: Answer = ""
    """Whether it was trained on the test set: no, folds (cross-validated) or yes."""

    @property
    def declared(self) -> JsonObject:
        texts = {"about": self.about, "training": self.training, "link": self.link}
        return {name: text for name, text in texts.items() if text}


def submit(
    site: Site,
    by: User,
    benchmark: str,
    sent: Upload,
    options: SubmitOptions,
    *,
    training: Training | None = None,
    is_baseline: bool = False,
) -> Entry:
    """Make an entry of a checked upload, queue its job, and sign a receipt.

    ``is_baseline`` is never taken from a request: only organisers submit baselines. Refused if the
    benchmark accepts no entries now, or no more from this account.
    """
    name, track = options.name.strip(), options.track
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise DeniedError("name_form")
    kind = "marks" if algorithm_of(sent.path) is None else ALGORITHM
    settle_all(sent.path.parent)  # before the receipt is signed
    with site.database.writing() as session:
        chosen = session.get(Benchmark, benchmark)
        if chosen is None:
            raise DeniedError("not_found", 404)
        require_open(session, by, chosen)
        _require_quota(site, session, by, sent.size)
        listed = rules_of(chosen).listed_for(track)
        accepted = AcceptedRules(candidates=listed, training=training or Training())
        at = now()
        statement = {
            "schema": RECEIPT,
            "entry": sent.entry,
            "benchmark": benchmark,
            "account": by.account,
            "file": sent.path.name,
            "bytes": sent.size,
            "digest": sent.digest,
            "track": track,
            "accepted_rules": accepted.content,
            "at": at.isoformat(timespec="seconds"),
        }
        entry = Entry(
            id=sent.entry,
            benchmark_id=benchmark,
            account_id=by.account,
            name=name,
            track=track,
            kind=kind,
            file=sent.path.name,
            digest=sent.digest,
            size=sent.size,
            declared=options.declared,
            accepted_rules=accepted.content,
            receipt=signed_statement("receipt", statement, site.key),
            is_baseline=is_baseline,
            created_at=at,
        )
        session.add(entry)
        session.flush()
        enqueue(session, entry.id, chosen.version)
        facts = {"entry": entry.id, "benchmark": benchmark, "digest": sent.digest}
        site.record(session, by.account, "submitted", **facts)
    return entry


def require_open(session: Transaction, by: User, benchmark: Benchmark) -> None:
    state = state_of(benchmark)
    if state != "open":
        raise DeniedError(f"benchmark_{state}", 409)
    rules = rules_of(benchmark)
    own = select(func.count()).where(
        Entry.benchmark_id == benchmark.id, Entry.account_id == by.account
    )
    week = own.where(Entry.created_at > now() - timedelta(days=7))
    for most, counted in ((rules.in_all, own), (rules.per_week, week)):
        if most is not None and (session.scalar(counted) or 0) >= most:
            raise DeniedError("quota_spent", 429)


def _require_quota(site: Site, session: Transaction, by: User, size: int) -> None:
    stored = session.scalar(select(func.sum(Entry.size)).where(Entry.account_id == by.account)) or 0
    if not by.is_organiser and stored + size > site.settings.account_quota:
        raise DeniedError("quota_full", 413)


def withdraw(site: Site, by: User, entry: str) -> None:
    """Withdraw one's own entry: it stays visible, without its metrics."""
    with site.acting(by.account, "withdrawn", entry=entry) as session:
        own = find_own(session, by, entry)
        own.withdrawn_at = own.withdrawn_at or now()


def find_entry(session: Transaction, user: User, entry: str) -> Entry:
    stored = session.get(Entry, entry)
    if stored is None:
        raise DeniedError("not_found", 404)
    if user.account == stored.account_id or user.roles & {"organiser", "operator", "auditor"}:
        return stored
    scored = select(Result.id).where(Result.entry_id == entry).limit(1)
    if not stored.benchmark.is_shown or session.scalar(scored) is None:
        raise DeniedError("not_found", 404)
    return stored


def find_own(session: Transaction, user: User, entry: str) -> Entry:
    stored = session.get(Entry, entry)
    if stored is None or not (stored.account_id == user.account or user.is_organiser):
        raise DeniedError("not_found", 404)
    return stored


def result_of(session: Transaction, entry: Entry) -> Result | None:
    version = entry.benchmark.version
    query = select(Result).where(Result.entry_id == entry.id, Result.version == version)
    return session.scalar(query)


def is_nameless(entry: Entry, user: User) -> bool:
    is_known = user.account == entry.account_id or user.is_organiser
    return rules_of(entry.benchmark).is_anonymous and not entry.is_baseline and not is_known


def shown_account(entry: Entry, user: User) -> str:
    return "" if is_nameless(entry, user) else entry.account.name


def shown_name(entry: Entry, user: User) -> str:
    return f"#{entry.id[:6]}" if is_nameless(entry, user) else entry.name
