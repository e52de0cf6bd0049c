"""Attacks on a site are refused and logged, and nothing of them is stored.

Other attacks are tested elsewhere: archives in submissions/test_archive, roles and forms in
test_guard, passwords in accounts/test_service, texts in test_pages, formulas in test_api.
"""

import io
import re
import sys
import zipfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from threading import Thread
from time import monotonic, sleep

import anyio
import pytest
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import select

from builders.portal import (
    ADDRESS,
    GOOD,
    HEADER,
    PASSWORD,
    SECRET_PLACE,
    Browser,
    make_tiny_benchmark,
    open_site,
    signed_in,
    work_off,
)
from nodulebench.web.portal import middleware
from nodulebench.web.portal.accounts.credentials import (
    AT_ONCE,
    MAX_PER_ADDRESS,
    Passwords,
    Refusals,
)
from nodulebench.web.portal.accounts.service import DeniedError, make_link
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.app import ROUTERS, make_app
from nodulebench.web.portal.database.event_log import latest_events
from nodulebench.web.portal.database.models import Benchmark, Entry, Job, Result, now
from nodulebench.web.portal.middleware import UploadLimiter
from nodulebench.web.portal.site import Settings, Site
from nodulebench.web.portal.submissions import archive, jobs, worker
from nodulebench.web.portal.submissions import service as entries
from nodulebench.web.portal.submissions.service import store_upload, sweep_uploads

TRICKS = (
    "../../portal.key",
    "..%2f..%2fportal.key",
    "%2e%2e%2f%2e%2e%2ftest-sets%2ftiny%2fannotations.csv",
    "%00",
    "%ff%fe",
    "'%20OR%201=1%20--",
    "a" * 4000,
)
READ = [
    route
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute) and "GET" in route.methods and route.name != "progress"
]


def refused(site: Site) -> list[dict[str, object]]:
    """The refusals in the log, last first."""
    with site.database.reading() as session:
        events = latest_events(session, None, 200)
    return [
        {"account": event.account, **dict(event.facts)}
        for event in events
        if event.action == "refused"
    ]


def zipped(*parts: tuple[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, part in parts:
            packed.writestr(name, part)
    return content.getvalue()


def sent(browser: Browser, benchmark: str, how: str, name: str, content: bytes):
    page = f"/benchmarks/{benchmark}/submit"
    files = {"file": (name, content)}
    return browser.post(f"/benchmarks/{benchmark}/{how}", page, files=files, name="Mine")


@pytest.mark.slow
def test_the_reference_cannot_be_read_by_any_route_id_or_trick(
    site: Site, organiser: User, as_ada: Browser, lin: User, benchmark: str
) -> None:
    """Every readable page, with every existing id and every trick, by three people."""
    as_lin = signed_in(site, lin.login)
    missed = f"{HEADER}\n1.2.3.1,10,20,30,0.9\n1.2.3.2,1,1,1,0.5\n"
    as_lin.send(benchmark, "submit", missed)
    work_off(site)
    as_ada.send(benchmark, "submit", GOOD)  # others must not see that it exists
    hidden = make_tiny_benchmark(site, organiser, title="Hidden from all")
    with site.database.writing() as session:
        session.get_one(Benchmark, hidden).is_shown = False
    with site.database.reading() as session:
        ids = [
            row_id for kind in (Entry, Job, Result) for row_id in session.scalars(select(kind.id))
        ]
    wrong = []
    secrets = (SECRET_PLACE, str(site.settings.storage), "coordX,", "Hidden from all", "$argon2")
    for who, browser in (("public", Browser(site)), ("ada", as_ada), ("lin", as_lin)):
        tried = (*ids, benchmark, hidden, *(TRICKS if who == "ada" else ()))
        for route in READ:
            for entry_id in tried if "{" in route.path else ("",):
                path = re.sub(r"\{\w+\}", entry_id, route.path)
                query = (
                    f"?one={ids[0]}&other={entry_id}&before={2**70}&rule={entry_id}&next=//x&to=//x"
                )
                answer = browser.client.get(path + query)
                text = answer.text + str(answer.headers)
                leaked = [secret for secret in secrets if secret in text]
                is_cacheable = "no-store" not in answer.headers["cache-control"]
                is_cacheable = is_cacheable and route.name not in ("static", "badge")
                if answer.status_code >= 500 or leaked or is_cacheable:
                    wrong.append((who, path[:60], answer.status_code, leaked, is_cacheable))
    assert wrong == []


OPENED: list[str] | None = None
"""Files opened since the list was emptied; None: not recorded."""


def _hear(event: str, given: tuple[object, ...]) -> None:
    if OPENED is not None and event in ("open", "os.listdir", "os.scandir"):
        OPENED.append(str(given[0]))


sys.addaudithook(_hear)


def test_a_check_never_opens_the_test_set(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the answer nor its time can disclose anything of the reference."""
    page = f"/benchmarks/{benchmark}/submit"
    as_ada.get(page)
    hits = f"{HEADER}\n1.2.3.1,10.0,20.0,30.0,0.9\n1.2.3.9,1,1,1,0.5\n"
    monkeypatch.setattr(sys.modules[__name__], "OPENED", [])
    assert as_ada.send(benchmark, "validate", hits).status_code == 200
    assert as_ada.send(benchmark, "submit", GOOD).status_code == 303
    assert OPENED is not None
    opened = [path for path in OPENED if path.startswith(str(site.settings.storage))]
    assert any("uploads" in path for path in opened)  # opened files are recorded
    assert [path for path in opened if path.startswith(str(site.settings.sets))] == []
    work_off(site)
    assert any(path.startswith(str(site.settings.sets)) for path in OPENED)  # the worker opens it


def test_a_check_answers_alike_whether_marks_hit_or_miss(as_ada: Browser, benchmark: str) -> None:
    """Repeated checks disclose nothing."""
    hits = f"{HEADER}\n1.2.3.1,10.0,20.0,30.0,0.9\n"
    misses = f"{HEADER}\n1.2.3.1,60.0,20.0,30.0,0.9\n"
    answers = [
        re.sub(r'name="csrf" value="[^"]+"', "", as_ada.send(benchmark, "validate", marks).text)
        for marks in (hits, misses)
    ]
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("name", "part"),
    [("bomb.csv", b"0" * 3_000_000), ("../../portal.key", b"x"), ("/etc/cron.d/x", b"x")],
    ids=["bomb", "traversal", "absolute"],
)
@pytest.mark.parametrize("how", ["validate", "submit"])
def test_a_hostile_archive_is_refused_and_logged(
    site: Site,
    as_ada: Browser,
    ada: User,
    benchmark: str,
    how: str,
    name: str,
    part: bytes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entries, "MAX_BYTES", 1_000_000)
    answer = sent(as_ada, benchmark, how, "marks.zip", zipped((name, part)))
    assert answer.status_code == 422
    assert (refused(site)[0]["account"], refused(site)[0]["code"]) == (ada.account, "archive")
    assert list((site.settings.storage / "uploads").iterdir()) == []
    assert not (site.settings.storage.parent / "portal.key").exists()


def test_a_new_storage_is_private(tmp_path: Path) -> None:
    opened = Site.open(Settings(tmp_path / "new"))
    opened.database.close()
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "new" / "portal.key").stat().st_mode & 0o777 == 0o600


def test_two_gigabytes_are_refused_before_a_byte_is_read(site: Site, as_ada: Browser) -> None:
    path = "/api/v1/benchmarks/0/check"
    read = []

    def body():
        read.append(1)
        yield b"x"

    headers = {"Content-Length": str(2 * 1024**3)}
    answer = as_ada.client.post(path, content=body(), headers=headers)
    assert answer.status_code == 413
    assert (refused(site)[0]["code"], refused(site)[0]["at"]) == ("too_large", path)


def test_a_form_that_is_sent_again_after_its_session_is_refused(
    site: Site, as_ada: Browser
) -> None:
    """Replayed with its cookie by an eavesdropper: the session, and so the form, has ended."""
    secret, cookie = as_ada.secret("/account"), dict(as_ada.client.cookies)
    assert as_ada.post("/sign-out", "/account").status_code == 303
    again = Browser(site)
    again.client.cookies.update(cookie)
    answer = again.client.post("/account/tokens", data={"csrf": secret, "name": "stolen"})
    assert answer.status_code == 401
    signed = signed_in(site, "ada")
    answer = signed.client.post("/account/tokens", data={"csrf": secret, "name": "stolen"})
    assert answer.status_code == 403
    assert refused(site)[0]["code"] == "form_old"


def test_a_used_link_cannot_be_used_again(site: Site) -> None:
    link = f"/link/{make_link(site, ('participant',), '')}"
    words = {"login": "eve", "name": "Eve", "password": PASSWORD, "again": PASSWORD}
    first = Browser(site)
    secret = first.secret(link)
    assert first.client.post(link, data={"csrf": secret, **words}).status_code == 303
    again = {**words, "csrf": secret, "login": "eve2"}
    first.client.cookies.delete("nodulebench")
    assert first.client.post(link, data=again).status_code == 404


@pytest.mark.slow
@pytest.mark.usefixtures("ada")
def test_password_spraying_is_refused_and_logged(site: Site) -> None:
    browser = Browser(site)
    secret = browser.secret("/sign-in")
    form = {"csrf": secret, "password": "Winter2026!!", "code": ""}
    for number in range(MAX_PER_ADDRESS):
        answer = browser.client.post("/sign-in", data={**form, "login": f"user{number}"})
        assert answer.status_code == 401
    for _ in range(3):
        answer = browser.client.post("/sign-in", data={**form, "login": "ada"})
        assert answer.status_code == 429
    with site.database.reading() as session:
        actions = [event.action for event in latest_events(session, None, 200)]
    assert actions.count("sign_in_failed") == MAX_PER_ADDRESS
    assert actions.count("sign_in_throttled") == 1  # a log that anyone can fill is useless


@pytest.mark.parametrize(
    ("proxy", "comes_from", "seen"),
    [
        ("", "127.0.0.1", "127.0.0.1"),  # without a named proxy no address is trusted
        ("127.0.0.1", "127.0.0.1", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),  # the client is not a proxy
        ("10.0.0.0/8,127.0.0.1", "10.1.2.3", "203.0.113.9"),
    ],
)
def test_only_a_named_proxy_is_trusted(
    tmp_path: Path, proxy: str, comes_from: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attacker invents addresses; the proxy appends the true one."""
    asked: list[str] = []
    monkeypatch.setattr(
        "nodulebench.web.portal.accounts.credentials._from",
        lambda address: asked.append(address) or "",
    )
    site = open_site(tmp_path / "portal", proxy=proxy)
    browser = Browser(site)
    browser.client = TestClient(
        make_app(site), base_url=ADDRESS, follow_redirects=False, client=(comes_from, 50000)
    )
    browser.client.headers["X-Forwarded-For"] = "192.0.2.1, 203.0.113.9"
    assert browser.sign_in("unknown").status_code == 401
    assert set(asked) == {seen}
    site.database.close()


def test_a_flood_of_passwords_takes_no_more_memory_than_a_few(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each hash takes 64 MiB for a moment; forty at once would exhaust a small machine."""
    at_once, most = [0], [0]

    class Slow:
        def verify(self, *_: object) -> bool:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
            sleep(0.01)
            at_once[0] -= 1
            return False

    passwords = Passwords()
    monkeypatch.setitem(passwords.__dict__, "_hash", Slow())
    threads = [Thread(target=passwords.is_correct, args=("x", "y")) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= most[0] <= AT_ONCE


def test_repeated_refusals_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("nodulebench.web.portal.accounts.credentials.monotonic", lambda: clock[0])
    refusals = Refusals()
    assert [refusals.due("ada", "form_old") for _ in range(5)] == [1, 0, 0, 0, 0]
    assert refusals.due("lin", "form_old") == 1
    clock[0] += 60.0
    assert refusals.due("ada", "form_old") == 5
    assert refusals.due("ada", "form_old") == 0


def test_an_account_has_one_upload_slot_and_a_server_a_few() -> None:
    """Eight uploads of two people with three slots: two at once, never two of one person."""
    limiter, most, most_of_account = UploadLimiter(at_once=3, per_account=1), [0], [0]
    taken: list[str] = []

    async def send(account: str) -> None:
        async with limiter.slot(account):
            taken.append(account)
            most[0] = max(most[0], len(taken))
            most_of_account[0] = max(most_of_account[0], taken.count(account))
            await anyio.sleep(0.005)
            taken.remove(account)

    async def all_at_once() -> None:
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(send, "ada" if number % 2 else "lin")

    anyio.run(all_at_once)
    assert (most, most_of_account) == ([2], [1])


def test_an_upload_without_a_slot_is_refused_after_a_while() -> None:
    limiter = UploadLimiter(at_once=1, waits_s=0.02)

    async def second() -> None:
        async with limiter.slot("ada"):
            with pytest.raises(DeniedError, match="busy"):
                async with limiter.slot("lin"):
                    pass
        async with limiter.slot("lin"):  # the slot is free again
            pass

    anyio.run(second)


def test_a_full_disk_takes_no_file(
    site: Site, as_ada: Browser, ada: User, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "free_bytes", lambda _: 100)
    answer = as_ada.send(benchmark, "validate", GOOD)
    assert answer.status_code == 507
    assert (refused(site)[0]["account"], refused(site)[0]["code"]) == (ada.account, "disk_full")
    monkeypatch.setattr(middleware, "free_bytes", lambda _: 1_000_000)
    assert as_ada.send(benchmark, "validate", GOOD).status_code == 200


def test_the_quota_of_an_account_is_enforced(site: Site, organiser: User, ada: User) -> None:
    small = Site(replace(site.settings, account_quota=2 * len(GOOD)), site.database, site.key)
    benchmark = make_tiny_benchmark(small, organiser)
    as_ada, as_organiser = signed_in(small, ada.login), signed_in(small, organiser.login)
    sizes = [as_ada.send(benchmark, "submit", GOOD).status_code for _ in range(3)]
    assert sizes == [303, 303, 413]
    assert len(list((site.settings.storage / "uploads").iterdir())) == 2
    sizes = [as_organiser.send(benchmark, "submit", GOOD).status_code for _ in range(3)]
    assert sizes == [303, 303, 303]


@pytest.mark.slow
def test_an_archive_is_unpacked_once_and_removed_after_scoring(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = []

    def counted(path, folder, most):
        unpacked.append(path)
        return archive.unpack(path, folder, most)

    monkeypatch.setattr(entries, "unpack", counted)
    content = zipped(("folder/marks.csv", GOOD.encode()))
    assert sent(as_ada, benchmark, "submit", "marks.zip", content).status_code == 303
    assert len(unpacked) == 1
    (folder,) = (site.settings.storage / "uploads").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["marks.zip", "unpacked"]
    assert work_off(site) == 1
    assert len(unpacked) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["marks.zip"]
    assert sent(as_ada, benchmark, "validate", "marks.zip", content).status_code == 200
    assert list((site.settings.storage / "uploads").iterdir()) == [folder]


def test_what_a_killed_server_left_behind_is_swept(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada.send(benchmark, "submit", GOOD)
    with store_upload(site, "x.csv", io.BytesIO(b"x")) as young:
        left = site.upload("0" * 16)
        left.mkdir()
        (left / "marks.csv").write_text("x")
        assert sweep_uploads(site) == 0
        monkeypatch.setattr(entries, "now", lambda: now() + timedelta(hours=25))
        assert sweep_uploads(site) == 2  # uploads of yesterday are abandoned
        assert not young.path.exists()
    with site.database.reading() as session:
        entry = session.scalars(select(Entry)).one()
    assert [path.name for path in (site.settings.storage / "uploads").iterdir()] == [entry.id]


def test_cancelling_kills_an_evaluation_that_says_nothing(
    site: Site, as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada.send(benchmark, "submit", GOOD)
    begun = []

    def endless(_site: Site, claimed: jobs.Claimed, *_: object) -> None:
        begun.append(claimed.job)
        try:
            sleep(3600)
        except Exception as error:
            raise AssertionError("the evaluation took it for its own error") from error

    def cancelling() -> None:
        while not begun:
            sleep(0.01)
        jobs.cancel(site, "olga", begun[0])

    monkeypatch.setattr(worker, "score", endless)
    monkeypatch.setattr(worker, "POLL_S", 0.02)
    teller, at = Thread(target=cancelling), monotonic()
    teller.start()
    assert work_off(site) == 1
    teller.join()
    assert monotonic() - at < 600
    with site.database.reading() as session:
        job = session.scalars(select(Job)).one()
        assert (job.state, job.problems["operator_message"]) == ("cancelled", "cancelled")
        assert session.scalar(select(Result.id)) is None
