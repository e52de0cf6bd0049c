"""Public pages are cached until the next event, and contain nothing of the requester."""

import asyncio
from collections.abc import Iterator

import pytest

from builders.portal import GOOD, Browser, signed_in, work_off
from nodulebench.web.portal import page_cache
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.app import make_app
from nodulebench.web.portal.benchmarks import routes as benchmark_route
from nodulebench.web.portal.page_cache import PageCache
from nodulebench.web.portal.site import Site


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The users for whom leaderboards were made, in order."""
    made: list[str] = []
    real = benchmark_route.board_of

    def counted(site, session, benchmark, visitor, *more, **choice):
        made.append(visitor.login)
        return real(site, session, benchmark, visitor, *more, **choice)

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
    """Two applications of a site act as two processes."""
    public, as_organiser = Browser(site), signed_in(site, organiser.login)
    assert public.get(page).status_code == 200
    assert as_organiser.post(f"{page}/change", page, about="now hidden").status_code == 303
    assert public.get(page).status_code == 404


def test_signed_in_users_get_their_own_page_uncached(
    site: Site, organiser: User, as_ada: Browser, page: str, made: list[str]
) -> None:
    as_organiser = signed_in(site, organiser.login)
    app = make_app(site)
    public = Browser(site)
    for browser in (public, as_ada, as_organiser):
        browser.wear(app)
    texts = [browser.get(page).text for browser in (as_organiser, public, as_ada, public)]
    assert made == ["olga", "", "ada"]
    assert f"{page}/change" in texts[0]
    assert texts[1] == texts[3]
    assert not any(word in texts[1] for word in ("/change", "csrf", "Olga</a>", "sign-out"))
    assert "your own" in texts[2].lower() or 'class="own"' in texts[2]
    planted = Browser(site)
    planted.wear(app)
    planted.client.cookies.set("nodulebench", "guessed")
    assert planted.get(page).status_code == 200
    assert made == [
        "olga",
        "",
        "ada",
        "",
    ]  # requests with credentials are not answered from the cache
    headers = {"Authorization": "Bearer guessed"}
    assert public.client.get(page, headers=headers).status_code == 200
    assert len(made) == 5


@pytest.mark.slow
def test_headers_of_a_request_do_not_reach_the_cache(
    site: Site, page: str, made: list[str]
) -> None:
    app = make_app(site)
    hostile, public = Browser(site), Browser(site)
    hostile.wear(app)
    public.wear(app)
    words = ("X-Forwarded-Host", "X-Forwarded-Prefix", "Host", "Referer", "User-Agent", "Origin")
    headers = {**dict.fromkeys(words, "evil.example"), "Cookie": "nodulebench-form=evil; x=evil"}
    response = hostile.client.get(page, headers=headers)
    clean = public.get(page)
    assert made == [""]
    assert response.content == clean.content
    assert b"evil" not in clean.content
    assert "set-cookie" not in clean.headers
    assert clean.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in clean.headers["content-security-policy"]


def test_languages_and_queries_are_cached_separately(
    site: Site, page: str, made: list[str]
) -> None:
    public = Browser(site)
    english = public.get(page).text
    chinese = public.client.get(page, headers={"Accept-Language": "zh-CN,zh"}).text
    assert ('<html lang="en"' in english, '<html lang="zh' in chinese) == (True, True)
    asked = public.client.get(f"{page}?metric=sensitivity_at_fp_rate/1").text
    assert asked != english
    assert public.get(page).text == english
    assert len(made) == 3


def test_a_page_with_a_form_is_not_cached(
    site: Site, monkeypatch: pytest.MonkeyPatch, made: list[str], page: str
) -> None:
    """Its secret belongs to one visitor, so such a page is made for each of them."""
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
    assert len(made) == 4  # each was rendered anonymously first, then for the requester


def test_a_page_expires(
    site: Site, page: str, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr(page_cache, "monotonic", lambda: clock[0])
    public = Browser(site)
    public.get(page)
    clock[0] += page_cache.LASTS_S - 0.1
    public.get(page)
    assert len(made) == 1
    clock[0] += 0.2
    public.get(page)
    assert len(made) == 2


def test_the_cache_is_limited(site: Site, page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_cache, "MAX_PAGES", 3)
    cache = PageCache(make_app(site), site)
    public = Browser(site)
    public.wear(cache)  # type: ignore[arg-type]
    for number in range(5):
        assert public.get(f"{page}?x={number}").status_code == 200
    assert public.get(f"{page}?x={'y' * 500}").status_code == 200
    assert [key[1] for key in cache._pages] == [b"x=2", b"x=3", b"x=4"]


def test_fifty_simultaneous_requests_share_one_rendering(
    site: Site, page: str, made: list[str]
) -> None:
    app = make_app(site)
    scope = {
        **{"type": "http", "method": "GET", "path": page, "raw_path": page.encode()},
        **{"query_string": b"", "headers": [], "client": ("127.0.0.1", 1), "scheme": "http"},
        **{"http_version": "1.1", "server": ("testserver", 80), "root_path": ""},
    }

    async def ask() -> bytes:
        messages = []

        async def send(message) -> None:
            messages.append(message)

        await app({**scope}, lambda: asyncio.sleep(60), send)
        return b"".join(message.get("body", b"") for message in messages)

    async def all_ask() -> list[bytes]:
        return await asyncio.gather(*(ask() for _ in range(50)))

    bodies = asyncio.run(all_ask())
    assert (len(bodies), len(set(bodies)), len(made)) == (50, 1, 1)
