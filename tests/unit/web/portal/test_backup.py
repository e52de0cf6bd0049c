"""A backup contains everything, can be restored to either database, and its log is verified."""

import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from builders.portal import (
    ADDRESS,
    BETTER,
    CHEAP,
    GOOD,
    Browser,
    make_person,
    make_tiny_benchmark,
    signed_in,
    work_off,
)
from nodulebench.core.errors import InputError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.backup import back_up, restore
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import Result, StoredEvent
from nodulebench.web.portal.site import Settings, Site


@pytest.mark.slow
def test_a_restored_site_is_the_same_on_the_other_database(
    any_site: Site, other_database: str, tmp_path: Path
) -> None:
    organiser = make_person(any_site, "olga", "organiser")
    make_person(any_site, "ada", "participant")
    benchmark = make_tiny_benchmark(any_site, organiser)
    as_ada = signed_in(any_site, "ada")
    entry = as_ada.send(benchmark, "submit", GOOD).headers["location"]
    work_off(any_site)
    as_ada.post(f"{entry}/certificate", entry)
    assert Browser(any_site).sign_in("ada", "wrong").status_code == 401
    pages = [f"/benchmarks/{benchmark}", entry, "/certificates/1", "/entries"]
    before = [as_ada.get(page).text for page in pages]
    back_up(any_site, tmp_path / "site.zip")
    settings = Settings(tmp_path / "new", other_database, address=ADDRESS, passwords=CHEAP)
    count = restore(tmp_path / "site.zip", settings)
    restored = Site.open(settings)
    assert _events(restored) == _events(any_site)
    assert count == len(_events(any_site))
    as_ada.wear(make_app(restored))
    assert [as_ada.get(page).text for page in pages] == before
    assert Browser(restored).sign_in("ada", "wrong").status_code == 401  # numbering continues
    again = as_ada.send(benchmark, "submit", BETTER).headers["location"]
    assert work_off(restored) == 1
    assert "1.000" in as_ada.get(again).text
    with restored.database.reading() as session:
        assert check_log(session, restored.key).problems == []
    assert (settings.storage / "portal.key").stat().st_mode & 0o777 == 0o600
    assert settings.storage.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "site.zip").stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "portal", "site.zip"]
    restored.database.close()


def test_a_database_that_holds_a_site_is_left_as_it_is(
    site: Site, organiser: User, tmp_path: Path
) -> None:
    back_up(site, tmp_path / "site.zip")
    taken = Settings(tmp_path / "new", site.settings.database_url, passwords=CHEAP)
    before = _events(site)
    assert organiser.account
    with pytest.raises(InputError, match="holds a site already"):
        restore(tmp_path / "site.zip", taken)
    assert _events(site) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["portal", "site.zip"]
    assert restore(tmp_path / "site.zip", replace(taken, database="")) == len(before)


def _events(site: Site) -> list[bytes]:
    with site.database.reading() as session:
        return list(session.scalars(select(StoredEvent.content).order_by(StoredEvent.number)))


def test_nothing_is_restored_over_something(site: Site, tmp_path: Path) -> None:
    back_up(site, tmp_path / "site.zip")
    with pytest.raises(InputError, match="is not empty"):
        restore(tmp_path / "site.zip", site.settings)


def _first_event_gone(rows: dict[str, bytes]) -> None:
    rows["rows/event.jsonl"] = rows["rows/event.jsonl"].partition(b"\n")[2]


def _new_column(rows: dict[str, bytes]) -> None:
    rows["rows/account.jsonl"] = rows["rows/account.jsonl"].replace(b"{", b'{"born": 1, ', 1)


def _new_table(rows: dict[str, bytes]) -> None:
    rows["rows/wish.jsonl"] = b""


def _not_a_backup(rows: dict[str, bytes]) -> None:
    rows["backup.json"] = b"[]"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_first_event_gone, "gap"),
        (_new_column, "later version"),
        (_new_table, "later version"),
        (_not_a_backup, "not a backup"),
    ],
)
def test_what_cannot_be_restored_leaves_nothing_behind(
    site: Site,
    organiser: User,
    tmp_path: Path,
    change: Callable[[dict[str, bytes]], None],
    message: str,
) -> None:
    assert organiser.account
    back_up(site, tmp_path / "site.zip")
    with zipfile.ZipFile(tmp_path / "site.zip") as old:
        rows = {name: old.read(name) for name in old.namelist()}
    change(rows)
    with zipfile.ZipFile(tmp_path / "changed.zip", "w") as new:
        for name, content in rows.items():
            new.writestr(name, content)
    with pytest.raises(InputError, match=message):
        restore(tmp_path / "changed.zip", Settings(tmp_path / "new", passwords=CHEAP))
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["changed.zip", "portal", "site.zip"]


def test_a_missing_backup_is_reported_as_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a file"):
        restore(tmp_path / "x.zip", Settings(tmp_path / "new"))


def test_a_backup_has_no_file_limit_and_skips_temporary_files(
    site: Site, as_ada: Browser, benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that are being uploaded, unpacked or scored may vanish during a backup."""
    entry = as_ada.send(benchmark, "submit", GOOD).headers["location"].rpartition("/")[2]
    work_off(site)
    with site.database.reading() as session:
        result = session.scalars(select(Result.folder)).one()
    (site.upload(entry) / "unpacked").mkdir()
    passing = [
        site.upload(entry) / "unpacked" / "marks.csv",
        site.benchmark(benchmark) / ".0123456789abcdef.part",
        site.upload("0" * 16) / "being-sent.csv",
        site.results / entry / "1-claimed" / "evaluation.json",
    ]
    for path in passing:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    back_up(site, tmp_path / "site.zip")
    monkeypatch.setattr("nodulebench.web.portal.submissions.archive.MAX_FILES", 3)
    settings = Settings(tmp_path / "new", address=ADDRESS, passwords=CHEAP)
    restore(tmp_path / "site.zip", settings)
    for path in passing:
        assert not (settings.storage / path.relative_to(site.settings.storage)).exists()
    names = sorted(path.name for path in (settings.storage / "results" / result).iterdir())
    assert names == sorted(path.name for path in (site.results / result).iterdir())
    assert (settings.storage / "uploads" / entry / "mine.csv").read_text() == GOOD
