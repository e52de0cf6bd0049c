"""A backup holds everything, also from one kind of database to the other; its log is verified."""

import zipfile
from pathlib import Path

import pytest
from sqlalchemy import select

from builders.portal import ADDRESS, CHEAP, GOOD, Browser, signed_in, work_off
from nodulebench.errors import InputError
from nodulebench.portal.access.visitor import Visitor
from nodulebench.portal.backup import back_up, restore
from nodulebench.portal.site import Settings, Site
from nodulebench.portal.store.tables import Result


def test_a_restored_site_is_the_same(
    site: Site, as_ada: Browser, benchmark: str, tmp_path: Path
) -> None:
    entry = as_ada.send(benchmark, "submit", GOOD).headers["location"]
    work_off(site)
    before = Browser(site).get(f"/benchmarks/{benchmark}").text
    back_up(site, tmp_path / "site.zip")
    settings = Settings(tmp_path / "new", address=ADDRESS, passwords=CHEAP)
    count = restore(tmp_path / "site.zip", settings)
    restored = Site.open(settings)
    assert count > 5
    assert Browser(restored).get(f"/benchmarks/{benchmark}").text == before
    browser = signed_in(restored, "ada")
    assert browser.get(entry).status_code == 200
    assert (restored.settings.storage / "portal.key").stat().st_mode & 0o777 == 0o600
    assert restored.settings.storage.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "site.zip").stat().st_mode & 0o777 == 0o600
    restored.database.close()


def test_nothing_is_restored_over_something(site: Site, tmp_path: Path) -> None:
    back_up(site, tmp_path / "site.zip")
    with pytest.raises(InputError, match="is not empty"):
        restore(tmp_path / "site.zip", site.settings)


def test_a_changed_backup_is_refused(site: Site, organiser: Visitor, tmp_path: Path) -> None:
    assert organiser.account
    back_up(site, tmp_path / "site.zip")
    with (
        zipfile.ZipFile(tmp_path / "site.zip") as old,
        zipfile.ZipFile(tmp_path / "changed.zip", "w") as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            if name == "rows/event.jsonl":
                content = content.partition(b"\n")[2]
            new.writestr(name, content)
    with pytest.raises(InputError, match="gap"):
        restore(tmp_path / "changed.zip", Settings(tmp_path / "new", passwords=CHEAP))


def test_something_else_is_no_backup(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a/b", "x")
        archive.writestr("c/d", "x")
    with pytest.raises(InputError, match="no backup"):
        restore(tmp_path / "x.zip", Settings(tmp_path / "new"))


def test_a_backup_has_no_limit_of_files_and_holds_what_rows_know(
    site: Site, as_ada: Browser, benchmark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made while the site is used: what is being sent, unpacked or scored may vanish any moment."""
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
    for one in passing:
        one.parent.mkdir(parents=True, exist_ok=True)
        one.write_text("x")
    back_up(site, tmp_path / "site.zip")
    monkeypatch.setattr("nodulebench.portal.archive.MOST_FILES", 3)
    settings = Settings(tmp_path / "new", address=ADDRESS, passwords=CHEAP)
    restore(tmp_path / "site.zip", settings)
    for one in passing:
        assert not (settings.storage / one.relative_to(site.settings.storage)).exists()
    kept = sorted(one.name for one in (settings.storage / "results" / result).iterdir())
    assert kept == sorted(one.name for one in (site.results / result).iterdir())
    assert (settings.storage / "uploads" / entry / "mine.csv").read_text() == GOOD
