"""Released files: only from the download folder, each with its digest.

No file of a sealed set is released: neither from inside a sealed set nor any copy of a file that a
sealed set of this site lists by digest. A worker computes the digests. A file without a digest, or
changed since, cannot be downloaded.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal, get_args

from sqlalchemy import select
from sqlalchemy.orm import Session as Transaction

from nodulebench.core.errors import NoduleBenchError
from nodulebench.io.bundle import is_sealed
from nodulebench.io.manifests import file_digest, read_manifest
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.models import Benchmark, Release, now
from nodulebench.web.portal.site import Site

ReleaseKind = Literal["scans", "nodules", "other"]
KINDS: tuple[ReleaseKind, ...] = get_args(ReleaseKind)
"""Scans or parts of them; additional nodules of an observer study; other files."""


def releasable(site: Site) -> list[str]:
    place = site.downloads
    return sorted(
        path.name for path in (place.iterdir() if place.is_dir() else ()) if path.name[0] != "."
    )


def release(site: Site, by: User, benchmark: str, name: str, kind: str) -> int:
    """Release and count a file or all files of a folder, unless of a sealed set."""
    if name not in releasable(site) or kind not in KINDS:
        raise DeniedError("not_found", 404)
    root = site.downloads.resolve()
    files = list(_files(root, root / name))
    with site.database.writing() as session:
        if session.get(Benchmark, benchmark) is None:
            raise DeniedError("not_found", 404)
        released = {release.file for release in open_releases(session, benchmark)}
        new = [(file, path) for file, path in files if file not in released]
        for file, path in new:
            facts = path.stat()
            session.add(
                Release(
                    benchmark_id=benchmark,
                    file=file,
                    kind=kind,
                    size=facts.st_size,
                    changed=facts.st_mtime_ns,
                )
            )
        site.record(session, by.account, "released", benchmark=benchmark, files=len(new), kind=kind)
    return len(new)


def end_release(site: Site, by: User, benchmark: str, name: str) -> None:
    with site.acting(by.account, "release_ended", benchmark=benchmark) as session:
        for release in open_releases(session, benchmark):
            if release.file.partition("/")[0] == name:
                release.ended_at = now()


def open_releases(session: Transaction, benchmark: str) -> list[Release]:
    query = select(Release).where(Release.benchmark_id == benchmark, Release.ended_at.is_(None))
    return list(session.scalars(query.order_by(Release.file)))


def released_file(site: Site, session: Transaction, benchmark: str, release_id: str) -> Release:
    """A released file that has a digest and was not changed since."""
    release = session.get(Release, release_id)
    if release is None or release.benchmark_id != benchmark or release.ended_at is not None:
        raise DeniedError("not_found", 404)
    if not release.digest or not _is_unchanged(site, release):
        raise DeniedError("file_not_ready", 409)
    return release


def release_path(site: Site, release: Release) -> Path:
    return site.downloads.resolve() / release.file


def digest_releases(site: Site) -> int:
    """Compute missing digests and end releases of sealed files; return the number of digests."""
    with site.database.reading() as session:
        due = session.scalars(select(Release).where(Release.digest == ""))
        waiting = [release for release in due if release.ended_at is None]
    sealed = set(_sealed_digests(site)) if waiting else set()
    made = 0
    for release in waiting:
        if not _is_unchanged(site, release):
            continue
        digest = file_digest(release_path(site, release))
        is_refused = digest in sealed
        facts = {"release": release.id, "digest": digest}
        with site.acting(
            "", "release_refused" if is_refused else "release_ready", **facts
        ) as write:
            stored = write.get_one(Release, release.id)
            stored.digest, stored.ended_at = digest, now() if is_refused else stored.ended_at
        made += 1
    return made


def _is_unchanged(site: Site, release: Release) -> bool:
    path = release_path(site, release)
    try:
        facts = path.stat(follow_symlinks=False)
    except OSError:
        return False
    is_same = (facts.st_size, facts.st_mtime_ns) == (release.size, release.changed)
    return is_same and path.is_file() and path.resolve() == path


def _files(root: Path, chosen: Path) -> Iterator[tuple[str, Path]]:
    inside = sorted(chosen.rglob("*")) if chosen.is_dir() and not chosen.is_symlink() else []
    for path in (chosen, *inside):
        if path.is_symlink() or path.resolve() != path:
            raise DeniedError("file_not_plain", 409)
        folders = (parent for parent in (path, *path.parents) if parent.is_relative_to(root))
        if any(is_sealed(folder) for folder in folders if folder.is_dir()):
            raise DeniedError("file_sealed", 409)
        if path.is_file():
            yield path.relative_to(root).as_posix(), path
        elif not path.is_dir():
            raise DeniedError("file_not_plain", 409)


def _sealed_digests(site: Site) -> Iterator[str]:
    with site.database.reading() as session:
        used = session.scalars(select(Benchmark.reference).where(Benchmark.is_sealed)).all()
    lying = site.settings.sets.iterdir() if site.settings.sets.is_dir() else ()
    for folder in {*map(Path, used), *(folder.resolve() for folder in lying)}:
        if is_sealed(folder):
            try:
                yield from read_manifest(folder).files.values()
            except NoduleBenchError:
                for path in folder.rglob("*"):
                    if path.is_file():
                        yield file_digest(path)
