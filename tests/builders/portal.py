"""A portal for tests: cheap passwords, a tiny test set, people who are signed in."""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient

from nodulebench.web.portal.accounts.credentials import Passwords
from nodulebench.web.portal.accounts.service import make_link, use_link
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.benchmarks.service import BenchmarkOptions, make_benchmark
from nodulebench.web.portal.database.database import Database
from nodulebench.web.portal.database.models import Account
from nodulebench.web.portal.site import DATABASE, Settings, Site
from nodulebench.web.portal.submissions.worker import work

PASSWORD = "correct horse battery"  # noqa: S105
CHEAP = Passwords(time_cost=1, memory_kib=64)
ADDRESS = "http://testserver"
SET = "tiny"
SERIES = ("1.2.3.1", "1.2.3.2", "1.2.3.3")
SECRET_PLACE = "37.125"  # noqa: S105
"""The x of the only nodule of the second series: no participant may ever read it."""
NODULES = (
    "1.2.3.1,10.0,20.0,30.0,8.0",
    f"1.2.3.2,{SECRET_PLACE},-5.0,12.0,6.0",
    "1.2.3.3,-40.0,3.0,-20.0,10.0",
)
HEADER = "seriesuid,coordX,coordY,coordZ,probability"
GOOD = "\n".join([HEADER, "1.2.3.1,10,20,30,0.9", "1.2.3.2,37,-5,12,0.8", "1.2.3.3,90,90,90,0.7"])
"""Two nodules hit, one missed, one false positive."""
BETTER = "\n".join(
    [HEADER, "1.2.3.1,10,20,30,0.9", "1.2.3.2,37,-5,12,0.8", "1.2.3.3,-40,3,-20,0.7"]
)
BROKEN = "\n".join([HEADER, "1.2.3.1,10,20,thirty,0.9", "1.2.3.2,37,-5,12,", "1.2.3.9,1,2,3,0.5"])


def write_test_set(folder: Path) -> None:
    """A LUNA16 folder of three scans."""
    folder.mkdir(parents=True)
    (folder / "seriesuids.csv").write_text("".join(f"{uid}\n" for uid in SERIES))
    head = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (folder / "annotations.csv").write_text(head + "".join(f"{nodule}\n" for nodule in NODULES))
    (folder / "annotations_excluded.csv").write_text(head)


def open_site(folder: Path, database: str = "", **more: object) -> Site:
    """A cheap site with one test set."""
    given = {"address": ADDRESS, "passwords": CHEAP, **more}
    settings = Settings(folder, database, **given)  # type: ignore[arg-type]
    if not (settings.sets / SET).exists():
        write_test_set(settings.sets / SET)
    file = settings.storage / DATABASE
    if not database and not file.exists():
        file.write_bytes(empty_database())
    return Site.open(settings)


@cache
def empty_database() -> bytes:
    """An SQLite database with today's tables: making them takes longer than many tests."""
    with TemporaryDirectory() as folder:
        made = Database(f"sqlite:///{folder}/{DATABASE}")
        made.migrate()
        made.close()
        return (Path(folder) / DATABASE).read_bytes()


def interface_description(folder: Path) -> dict[str, Any]:
    """The OpenAPI description of a site."""
    from nodulebench.web.portal.app import make_app

    return make_app(open_site(folder)).openapi()


def make_person(site: Site, login: str, *roles: str) -> User:
    """Make an account."""
    link = make_link(site, roles, "")  # type: ignore[arg-type]
    account = use_link(site, link, login, login.title(), PASSWORD)
    with site.database.reading() as session:
        stored = session.get_one(Account, account)
    return User(account, stored.login, stored.name, frozenset({*roles, "public"}))


def make_tiny_benchmark(site: Site, by: User, **more: object) -> str:
    """A benchmark of the tiny test set."""
    given = {"title": "Tiny", "test_set": SET, "protocol": "luna16", **more}
    return make_benchmark(site, by, BenchmarkOptions(**given))  # type: ignore[arg-type]


def work_off(site: Site) -> int:
    """Do every job that waits."""
    return work(site, None, Event(), until_empty=True)


@dataclass
class Browser:
    """A browser: follows forms with their secret."""

    site: Site
    client: TestClient = field(init=False)

    def __post_init__(self) -> None:
        self.wear(make_app(self.site))

    def wear(self, app: FastAPI) -> None:
        """Switch to another application of the same site."""
        cookies = getattr(self, "client", None) and self.client.cookies
        address = self.site.settings.address
        self.client = TestClient(app, base_url=address, follow_redirects=False, cookies=cookies)

    def get(self, path: str) -> Any:
        return self.client.get(path)

    def secret(self, path: str) -> str:
        """The secret of the first form of a page."""
        match = re.search(r'name="csrf" value="([^"]+)"', self.get(path).text)
        assert match, path
        return match[1]

    def post(self, path: str, page: str = "/sign-in", /, files: object = None, **given: object):
        """Send a form of a page."""
        data = {"csrf": self.secret(page), **given}
        return self.client.post(path, data=data, files=files)  # type: ignore[arg-type]

    def sign_in(self, login: str, password: str = PASSWORD, code: str = "") -> Any:
        return self.post("/sign-in", login=login, password=password, code=code)

    def send(self, benchmark: str, how: str, content: str, name: str = "mine.csv") -> Any:
        """Check or submit a file."""
        page = f"/benchmarks/{benchmark}/submit"
        files = {"file": (name, content.encode())}
        return self.post(f"/benchmarks/{benchmark}/{how}", page, files=files, name="Mine")


def signed_in(site: Site, login: str) -> Browser:
    """A browser that has signed in."""
    browser = Browser(site)
    assert browser.sign_in(login).status_code == 303
    return browser
