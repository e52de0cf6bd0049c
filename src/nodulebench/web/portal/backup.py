"""Backup and restore: a site <-> one archive with all tables, uploads, results and the key.

Rows are written as JSON lines, one file per table, in the same form from SQLite and PostgreSQL,
so that a backup of one can be restored into the other.
"""

import base64
import json
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Integer, LargeBinary, Table, func, insert, select, text
from sqlalchemy.orm import Session as Transaction
from sqlalchemy.types import TypeEngine

from nodulebench.core.errors import InputError
from nodulebench.core.json_types import JsonObject
from nodulebench.io.atomic import staged_file, staged_folder
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import (
    Account,
    AnnotationProject,
    Base,
    Benchmark,
    Entry,
    Result,
    SiteExam,
    StoredEvent,
    UtcTime,
)
from nodulebench.web.portal.site import KEY, Settings, Site
from nodulebench.web.portal.submissions.archive import unpack
from nodulebench.web.portal.submissions.service import UNPACKED

SCHEMA = "nodulebench/portal-backup@1"
ABOUT, ROWS, FILES = "backup.json", "rows", "files"
MAX_BYTES, MAX_FILES = 1 << 50, 1 << 40
"""A backup is made by the operator, so the limits against hostile archives do not apply."""
_CHUNK = 500


def back_up(site: Site, path: Path) -> None:
    """Write the state of a site at one moment into an archive; refused if its log was changed."""
    with staged_file(path) as stage, _own_archive(stage) as archive:
        with site.database.reading() as session:
            if not site.database.is_sqlite:
                session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
            problems = check_log(session, site.key).problems
            if problems:
                raise InputError(problems)
            events = session.scalar(select(func.count()).select_from(StoredEvent))
            folders = [*map(site.upload, session.scalars(select(Entry.id)))]
            folders += [site.results / folder for folder in session.scalars(select(Result.folder))]
            folders += [
                site.benchmark(benchmark_id)
                for benchmark_id in session.scalars(select(Benchmark.id))
            ]
            folders += [
                site.project(project_id)
                for project_id in session.scalars(select(AnnotationProject.id))
            ]
            folders += [site.exam(exam_id) for exam_id in session.scalars(select(SiteExam.id))]
            for table in Base.metadata.sorted_tables:
                rows = session.execute(select(table)).mappings()
                lines = "".join(json.dumps(_plain(dict(row))) + "\n" for row in rows)
                archive.writestr(f"{ROWS}/{table.name}.jsonl", lines)
        storage = site.settings.storage
        for file in (storage / KEY, *(path for folder in folders for path in _files(folder))):
            archive.write(file, f"{FILES}/{file.relative_to(storage).as_posix()}")
        about = {"schema": SCHEMA, "at": datetime.now(UTC).isoformat(), "events": events}
        archive.writestr(ABOUT, json.dumps(about))


def restore(path: Path, settings: Settings) -> int:
    """Restore a site, all or nothing, into an empty place; return its number of events."""
    storage = settings.storage
    if not path.is_file():
        raise InputError.at(path, "is not a file.", "Name the archive that 'portal backup' wrote.")
    if storage.exists() and any(storage.iterdir()):
        raise InputError.at(storage, "is not empty.", "Name a new folder with --storage.")
    with staged_folder(storage) as stage, TemporaryDirectory(dir=stage) as scratch:
        unpacked = Path(scratch) / "backup"
        unpack(path, unpacked, MAX_BYTES, MAX_FILES)
        if _schema_of(unpacked / ABOUT) != SCHEMA:
            raise InputError.at(path, "is not a backup of a portal.")
        for file in (unpacked / FILES).iterdir():
            file.rename(stage / file.name)
        (stage / KEY).chmod(0o600)
        stage.chmod(0o700)
        site = Site.open(replace(settings, storage=stage))
        with closing(site.database), site.database.writing() as session:
            count = _fill(session, unpacked / ROWS, site, path)
    storage.chmod(0o700)
    return count


def _fill(session: Transaction, folder: Path, site: Site, source: Path) -> int:
    if session.scalar(select(func.count()).select_from(Account)):
        raise InputError.at("--database", "holds a site already.", "Name an empty one.")
    known = {table.name for table in Base.metadata.sorted_tables}
    if any(path.stem not in known for path in folder.iterdir()):
        raise _of_later_version(source)
    for table in Base.metadata.sorted_tables:
        rows = list(_lines(folder / f"{table.name}.jsonl"))
        if any(name not in table.columns for row in rows for name in row):
            raise _of_later_version(source)
        for start in range(0, len(rows), _CHUNK):
            typed = [
                {name: _of_kind(table.columns[name].type, value) for name, value in row.items()}
                for row in rows[start : start + _CHUNK]
            ]
            session.execute(insert(table), typed)
        if not site.database.is_sqlite and "id" in table.columns and rows:
            _count_on(session, table)
    check = check_log(session, site.key)
    if check.problems:
        raise InputError(check.problems)
    return len(check.events)


def _of_later_version(source: Path) -> InputError:
    what = "was made by a later version of NoduleBench."
    return InputError.at(source, what, "Restore it with that version, or one that came after.")


@contextmanager
def _own_archive(stage: Path) -> Iterator[zipfile.ZipFile]:
    """Open an archive that only its owner can read, because it holds the key of the site."""
    stage.touch(mode=0o600)
    stage.chmod(0o600)
    with zipfile.ZipFile(stage, "w", zipfile.ZIP_DEFLATED) as archive:
        yield archive


def _count_on(session: Transaction, table: Table) -> None:
    if isinstance(table.columns["id"].type, Integer):
        sequence = func.pg_get_serial_sequence(table.name, "id")
        session.execute(
            select(func.setval(sequence, select(func.max(table.c.id)).scalar_subquery()))
        )


def _files(folder: Path) -> Iterator[Path]:
    """List the files to back up: not temporary files, and not what can be unpacked again."""
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_passing = parts[0] == UNPACKED or any(part.startswith(".") for part in parts)
        if not is_passing and path.is_file():
            yield path


def _schema_of(path: Path) -> object:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return read.get("schema") if isinstance(read, dict) else None


def _lines(path: Path) -> Iterator[JsonObject]:
    if path.is_file():  # an older backup lacks tables of later versions
        with path.open(encoding="utf-8") as file:
            yield from map(json.loads, file)


def _plain(row: JsonObject) -> JsonObject:
    return {name: _as_json(value) for name, value in row.items()}


def _as_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _of_kind(kind: TypeEngine[Any], value: object) -> object:
    if isinstance(kind, UtcTime) and isinstance(value, str):
        return datetime.fromisoformat(value)
    if isinstance(kind, LargeBinary) and isinstance(value, str):
        return base64.b64decode(value)
    return value
