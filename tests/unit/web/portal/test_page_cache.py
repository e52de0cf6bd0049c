"""Pages for everybody are kept until something happens, and hold nothing of who asked."""

import asyncio
from collections.abc import Iterator

import pytest

from builders.portal import GOOD, Browser, signed_in, work_off
from nodulebench.web.portal import page_cache as kept_pages
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.benchmarks import routes as benchmark_route
from nodulebench.web.portal.page_cache import PageCache
from nodulebench.web.portal.site import Site


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Whose leaderboards were made, in turn."""
    made: list[str] = []
    real = benchmark_route.board_of

    def counted(site, session, found, visitor, *more, **choice):
        made.append(visitor.login)
        return real(site, session, found, visitor, *more, **choice)

    monkeypatch.setattr(benchmark_route, "board_of", counted)
    return made


@pytest.fixture
def page(site: Site, as_ada: Browser, benchmark: str) -> Iterator[str]:
    as_ada.send(benchmark, "submit", GOOD)
    work_off(site)
    return f"/benchmarks/{benchmark}"


def test_a_page_is_made_once_until_something_happens(
    site: Site, as_ada: Browser, page: str, made: list[str]
) -> None:
    public = Browser(site)
    first = public.get(page)
    assert [public.get(page).content for _ in range(5)] == [first.content] * 5
    assert made == [""]
    entry = first.text.split('href="/entries/')[1].split('"')[0]
    assert as_ada.post(f"/entries/{entry}/withdraw", f"/entries/{entry}").status_code == 303
    assert "withdrawn" in public.get(page).text
    assert made == ["", ""]


def test_a_change_that_another_process_made_is_seen_at_once(
    site: Site, organiser: User, page: str
) -> None:
    """Two applications of one site, as two processes are."""
    public, as_organiser = Browser(site), signed_in(site, organiser.login)
    assert public.get(page).status_code == 200
    assert as_organiser.post(f"{page}/change", page, about="now hidden").status_code == 303
    assert public.get(page).status_code == 404


def test_who_is_signed_in_gets_their_own_and_leaves_nothing(
    site: Site, organiser: User, as_ada: Browser, page: str, made: list[str]
) -> None:
    as_organiser = signed_in(site, organiser.login)
    app = make_app(site)
    public = Browser(site)
    for one in (public, as_ada, as_organiser):
        one.wear(app)
    texts = [one.get(page).text for one in (as_organiser, public, as_ada, public)]
    assert made == ["olga", "", "ada"]
    assert f"{page}/change" in texts[0]
    assert texts[1] == texts[3]
    assert not any(word in texts[1] for word in ("/change", "csrf", "Olga</a>", "sign-out"))
    assert "your own" in texts[2].lower() or 'class="own"' in texts[2]
    planted = Browser(site)
    planted.wear(app)
    planted.client.cookies.set("nodulebench", "guessed")
    assert planted.get(page).status_code == 200
    assert made == ["olga", "", "ada", ""]  # whoever says to be somebody is looked up
    headers = {"Authorization": "Bearer guessed"}
    assert public.client.get(page, headers=headers).status_code == 200
    assert len(made) == 5


@pytest.mark.slow
def test_nothing_that_a_request_says_of_itself_stays_in_a_page(
    site: Site, page: str, made: list[str]
) -> None:
    app = make_app(site)
    hostile, public = Browser(site), Browser(site)
    hostile.wear(app)
    public.wear(app)
    words = ("X-Forwarded-Host", "X-Forwarded-Prefix", "Host", "Referer", "User-Agent", "Origin")
    headers = {**dict.fromkeys(words, "evil.example"), "Cookie": "nodulebench-form=evil; x=evil"}
    told = hostile.client.get(page, headers=headers)
    clean = public.get(page)
    assert made == [""]
    assert told.content == clean.content
    assert b"evil" not in clean.content
    assert "set-cookie" not in clean.headers
    assert clean.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in clean.headers["content-security-policy"]


def test_languages_and_questions_are_kept_apart(site: Site, page: str, made: list[str]) -> None:
    public = Browser(site)
    english = public.get(page).text
    chinese = public.client.get(page, headers={"Accept-Language": "zh-CN,zh"}).text
    assert ('<html lang="en"' in english, '<html lang="zh' in chinese) == (True, True)
    asked = public.client.get(f"{page}?metric=sensitivity_at_fp_rate/1").text
    assert asked != english
    assert public.get(page).text == english
    assert len(made) == 3


def test_a_page_with_a_form_is_not_kept(
    site: Site, monkeypatch: pytest.MonkeyPatch, made: list[str], page: str
) -> None:
    """Its secret is one visitor's: such a page is made anew for each."""
    real = benchmark_route.render_page

    def with_form(request, *more, **values):
        answer = real(request, *more, **values)
        answer.body += f'<input name="csrf" value="{request.state.form_secret}">'.encode()
        answer.headers["content-length"] = str(len(answer.body))
        return answer

    monkeypatch.setattr(benchmark_route, "render_page", with_form)
    app = make_app(site)
    secrets = []
    for _ in range(2):
        browser = Browser(site)
        browser.wear(app)
        secrets.append(browser.secret(page))
        assert browser.client.cookies["nodulebench-form"] == secrets[-1]
    assert secrets[0] != secrets[1]
    assert len(made) == 4  # each was tried for nobody, and made for who asked


def test_a_page_lasts_no_longer_than_dates_may_pass(
    site: Site, page: str, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(kept_pages, "monotonic", lambda: clock[0])
    public = Browser(site)
    public.get(page)
    clock[0] += kept_pages.LASTS_S - 0.1
    public.get(page)
    assert len(made) == 1
    clock[0] += 0.2
    public.get(page)
    assert len(made) == 2


def test_memory_has_a_bound(site: Site, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_pages, "MOST", 3)
    kept = PageCache(make_app(site), site)
    public = Browser(site)
    public.wear(kept)  # type: ignore[arg-type]
    for number in range(5):
        assert public.get(f"{page}?x={number}").status_code == 200
    assert public.get(f"{page}?x={'y' * 500}").status_code == 200
    assert [key[1] for key in kept._pages] == [b"x=2", b"x=3", b"x=4"]


def test_fifty_who_ask_at_once_wait_for_one_page(site: Site, page: str, made: list[str]) -> None:
    app = make_app(site)
    scope = {
        **{"type": "http", "method": "GET", "path": page, "raw_path": page.encode()},
        **{"query_string": b"", "headers": [], "client": ("127.0.0.1", 1), "scheme": "http"},
        **{"http_version": "1.1", "server": ("testserver", 80), "root_path": ""},
    }

    async def ask() -> bytes:
        told = []

        async def send(message) -> None:
            told.append(message)

        await app({**scope}, lambda: asyncio.sleep(60), send)
        return b"".join(one.get("body", b"") for one in told)

    async def all_ask() -> list[bytes]:
        return await asyncio.gather(*(ask() for _ in range(50)))

    bodies = asyncio.run(all_ask())
    assert (len(bodies), len(set(bodies)), len(made)) == (50, 1, 1)
