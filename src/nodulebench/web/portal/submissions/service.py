"""Entries: what somebody sends -> kept on disk, looked through, written down with a receipt."""

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
from nodulebench.web.portal.accounts.users import Visitor
from nodulebench.web.portal.benchmarks.rules import AcceptedRules
from nodulebench.web.portal.benchmarks.service import rules_of, state_of
from nodulebench.web.portal.database.database import UNREACHED
from nodulebench.web.portal.database.models import Benchmark, Entry, Result, new_id, now
from nodulebench.web.portal.middleware import free_bytes
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.archive import (
    CHUNK,
    MOST_BYTES,
    inside_of,
    is_archive,
    unpack,
)
from nodulebench.web.portal.submissions.jobs import enqueue

MOST_NAME = 80
RECEIPT = "nodulebench/receipt@1"
UNPACKED = "unpacked"
LEFT_S = 24 * 3600
"""What is older than this, and no entry, is nobody's."""
ALGORITHM, MANIFEST = "algorithm", "algorithm.toml"


@dataclass(frozen=True, slots=True)
class Received:
    """What was sent, on the disk of the site."""

    entry: str
    """The id that it would have as an entry."""
    path: Path
    digest: str
    size: int
    by: str = ""
    """The account that sent it."""


@contextmanager
def received(site: Site, name: str, content: BinaryIO, by: str = "") -> Iterator[Received]:
    """Keep what is sent, for as long as it takes to become an entry; else it is removed."""
    entry = new_id()
    folder = site.upload(entry)
    make_folder(folder)
    path = folder / file_name(name)
    try:
        with path.open("xb") as file:
            shutil.copyfileobj(content, file, CHUNK)
        if path.stat().st_size > site.settings.largest_upload:
            raise DeniedError("too_large", 413)
        yield Received(entry, path, file_digest(path), path.stat().st_size, by)
    except UNREACHED:  # it may be an entry all the same; if not, it is swept
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
    """A name for a file that somebody sent: its endings tell what it is, the rest is theirs."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", given.replace("\\", "/").rpartition("/")[2])
    return plain.lstrip(".")[-100:].lstrip(".") or "marks"


def marks_of(path: Path) -> Path:
    """The file or folder of marks that was sent; an archive is unpacked beside it, once.

    Raises:
        InputError: if an archive cannot be unpacked.
    """
    if not is_archive(path):
        return path
    folder = path.parent / UNPACKED
    if folder.is_dir():
        return inside_of(folder)
    return unpack(path, folder, min(MOST_BYTES, free_bytes(path.parent)))


def forget_unpacked(site: Site, entry: str) -> None:
    """Remove what an archive was unpacked into, when it is judged; the archive stays."""
    shutil.rmtree(site.upload(entry) / UNPACKED, ignore_errors=True)


def sweep_uploads(site: Site) -> int:
    """Remove what was sent and became no entry, for its server was killed; how many."""
    folder, before = site.settings.storage / "uploads", now().timestamp() - LEFT_S
    old = [path for path in folder.glob("*") if path.stat().st_mtime < before]
    with site.database.reading() as session:
        left = [one for one in old if session.get(Entry, one.name) is None]
    for one in left:
        shutil.rmtree(one, ignore_errors=True)
    return len(left)


def algorithm_of(path: Path) -> Path | None:
    """The folder of an algorithm that was sent; None: it is marks."""
    found = marks_of(path)
    is_one = found.is_dir() and (found / MANIFEST).is_file() and not any(found.glob("marks.*"))
    return found if is_one else None


def submit(
    site: Site,
    by: Visitor,
    benchmark: str,
    sent: Received,
    *,
    name: str,
    track: str = "detection",
    declared: JsonObject | None = None,
    terms: AcceptedRules | None = None,
    is_baseline: bool = False,
) -> Entry:
    """Make an entry of what was sent, put its job into the queue, and sign a receipt.

    Raises:
        DeniedError: if the benchmark takes nothing now, or nothing more from this account.
    """
    name = name.strip()
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise DeniedError("name_form")
    kind = "marks" if algorithm_of(sent.path) is None else ALGORITHM
    settle_all(sent.path.parent)  # before anybody has it in writing
    with site.database.writing() as session:
        chosen = session.get(Benchmark, benchmark)
        if chosen is None:
            raise DeniedError("not_found", 404)
        require_open(session, by, chosen)
        _require_quota(site, session, by, sent.size)
        listed = rules_of(chosen).listed_for(track)
        taken = (terms or AcceptedRules()).model_copy(update={"candidates": listed})
        at = now()
        told = {
            "schema": RECEIPT,
            "entry": sent.entry,
            "benchmark": benchmark,
            "account": by.account,
            "file": sent.path.name,
            "bytes": sent.size,
            "digest": sent.digest,
            "track": track,
            "terms": taken.said,
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
            declared=declared or {},
            terms=taken.said,
            receipt=signed_statement("receipt", told, site.key),
            is_baseline=is_baseline,
            created_at=at,
        )
        session.add(entry)
        session.flush()
        enqueue(session, entry.id, chosen.version)
        facts = {"entry": entry.id, "benchmark": benchmark, "digest": sent.digest}
        site.record(session, by.account, "submitted", **facts)
    return entry


def require_open(session: Transaction, by: Visitor, benchmark: Benchmark) -> None:
    """Refuse an entry that a benchmark does not take: not now, or no more from this account."""
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


def _require_quota(site: Site, session: Transaction, by: Visitor, size: int) -> None:
    """Refuse what is more than is kept of one account; organisers know their disk."""
    kept = session.scalar(select(func.sum(Entry.size)).where(Entry.account_id == by.account)) or 0
    if not by.is_organiser and kept + size > site.settings.most_kept:
        raise DeniedError("kept_full", 413)


def withdraw(site: Site, by: Visitor, entry: str) -> None:
    """Take an entry back: it stays, shown as withdrawn, without its metrics.

    Raises:
        DeniedError: if it is somebody else's.
    """
    with site.acting(by.account, "withdrawn", entry=entry) as session:
        found = find_own(session, by, entry)
        found.withdrawn_at = found.withdrawn_at or now()


def find_entry(session: Transaction, visitor: Visitor, entry: str) -> Entry:
    """An entry that somebody may see: one's own, or one that has a result.

    Raises:
        DeniedError: if there is none; the same where it is not for them.
    """
    found = session.get(Entry, entry)
    if found is None:
        raise DeniedError("not_found", 404)
    if visitor.account == found.account_id or visitor.roles & {"organiser", "operator", "auditor"}:
        return found
    scored = select(Result.id).where(Result.entry_id == entry).limit(1)
    if not found.benchmark.is_shown or session.scalar(scored) is None:
        raise DeniedError("not_found", 404)
    return found


def find_own(session: Transaction, visitor: Visitor, entry: str) -> Entry:
    """An entry of one's own; of anybody, for an organiser.

    Raises:
        DeniedError: if there is none; the same where it is somebody else's.
    """
    found = session.get(Entry, entry)
    if found is None or not (found.account_id == visitor.account or visitor.is_organiser):
        raise DeniedError("not_found", 404)
    return found


def result_of(session: Transaction, entry: Entry) -> Result | None:
    """The result of an entry under the version of its benchmark that counts."""
    version = entry.benchmark.version
    found = select(Result).where(Result.entry_id == entry.id, Result.version == version)
    return session.scalar(found)


def is_nameless(entry: Entry, visitor: Visitor) -> bool:
    """Whether everything by which somebody could tell whose an entry is, is kept from a visitor."""
    is_known = visitor.account == entry.account_id or visitor.is_organiser
    return rules_of(entry.benchmark).is_anonymous and not entry.is_baseline and not is_known


def shown_account(entry: Entry, visitor: Visitor) -> str:
    """What somebody sees of whose an entry is; nothing where names are kept back, or gone."""
    return "" if is_nameless(entry, visitor) else entry.account.name


def shown_name(entry: Entry, visitor: Visitor) -> str:
    """What somebody sees of what an entry is called; a number where names are kept back."""
    return f"#{entry.id[:6]}" if is_nameless(entry, visitor) else entry.name
