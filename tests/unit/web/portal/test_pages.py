"""Pages in both languages, for those who may see them; texts of people are never markup."""

import re

import pytest

from builders.portal import GOOD, Browser, make_person, work_off
from builders.portal import PASSWORD as WORDS
from nodulebench.core.errors import InputError
from nodulebench.demo import DETECTORS, DemoChoice
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.demo import PASSWORD, PEOPLE, fill
from nodulebench.web.portal.serve import organiser_link
from nodulebench.web.portal.site import Site

PAGES = ("/", "/account", "/entries", "/dashboard", "/people", "/log", "/benchmarks/new")


@pytest.mark.parametrize(("name", "word"), [("en", "Benchmarks"), ("zh", "测试项目")])
def test_pages_in_both_languages(
    site: Site, as_organiser: Browser, benchmark: str, name: str, word: str
) -> None:
    assert as_organiser.get(f"/language/{name}?to=/dashboard").headers["location"] == "/dashboard"
    as_organiser.send(benchmark, "submit", GOOD)
    work_off(site)
    for path in (*PAGES, f"/benchmarks/{benchmark}", f"/benchmarks/{benchmark}/submit"):
        answer = as_organiser.get(path)
        assert answer.status_code == 200, path
        assert word in answer.text
    verified = as_organiser.post("/log/verify", "/log")
    assert verified.status_code == 200
    assert 'class="done"' in verified.text


def test_the_chosen_language_overrides_that_of_the_browser(site: Site) -> None:
    chinese = {"Accept-Language": "zh-CN,zh;q=0.9,en;q=0.8"}
    assert '<html lang="zh' in Browser(site).client.get("/", headers=chinese).text
    assert (
        '<html lang="en"' in Browser(site).client.get("/", headers={"Accept-Language": "fr"}).text
    )


@pytest.mark.parametrize("to", ["//evil", "/\\evil", "https://evil", "evil"])
def test_redirects_stay_on_the_site(site: Site, ada: User, to: str) -> None:
    assert Browser(site).get(f"/language/en?to={to}").headers["location"] == "/"
    signed = Browser(site).post("/sign-in", login=ada.login, password=WORDS, next=to)
    assert signed.headers["location"] == "/"


def test_what_people_write_is_text(site: Site, as_organiser: Browser, benchmark: str) -> None:
    evil = "<script>alert(1)</script>\"'&"
    as_organiser.post("/announcements", "/dashboard", text=evil)
    page = f"/benchmarks/{benchmark}"
    as_organiser.post(f"{page}/change", page, about=evil, shown="yes", feedback="metrics")
    files = {"file": (f"{evil}.csv", GOOD.encode())}
    sent = as_organiser.post(f"{page}/submit", f"{page}/submit", files=files, name=evil)
    work_off(site)
    for path in ("/", page, sent.headers["location"], "/entries", "/dashboard", "/log"):
        text = as_organiser.get(path).text
        assert "<script>" not in text, path
    assert "&lt;script&gt;alert(1)" in as_organiser.get(page).text


def test_an_organiser_invites_a_person(site: Site, as_organiser: Browser) -> None:
    page = as_organiser.post("/people/invite", "/people", roles=["participant", "auditor"]).text
    path = page.split('<p class="secret"><code>http://testserver')[1].split("<")[0]
    guest = Browser(site)
    given = {
        "login": "ina",
        "name": "Ina",
        "password": "a good long one",
        "again": "a good long one",
    }
    assert guest.post(path, path, **{**given, "again": "x"}).status_code == 400
    assert guest.post(path, path, **given).headers["location"] == "/account"
    assert guest.get("/log").status_code == 200
    assert Browser(site).get(path).status_code == 404


def test_people_register_where_registration_is_open(site: Site, as_organiser: Browser) -> None:
    assert Browser(site).get("/register").status_code == 404
    as_organiser.post("/people/registration", "/people", open="yes")
    guest = Browser(site)
    given = {
        "login": "ina",
        "name": "Ina",
        "password": "a good long one",
        "again": "a good long one",
    }
    assert guest.post("/register", "/register", **given).headers["location"] == "/account"
    assert guest.get("/entries").status_code == 200
    assert guest.get("/people").status_code == 403


def test_a_second_factor_is_set_up_by_its_code(site: Site, as_ada: Browser) -> None:
    from nodulebench.web.portal.accounts.credentials import code_at, step_at
    from nodulebench.web.portal.database.models import now

    page = as_ada.post("/account/totp/begin", "/account", old=WORDS).text
    secret = page.split('<p class="secret"><code>')[1].split("<")[0]
    wrong = as_ada.post("/account/totp/confirm", "/account", totp_secret=secret, code="000000")
    assert wrong.status_code == 400
    code = code_at(secret, step_at(now()))
    as_ada.post("/account/totp/confirm", "/account", totp_secret=secret, code=code)
    assert Browser(site).sign_in("ada").status_code == 401
    assert Browser(site).sign_in("ada", code=code_at(secret, step_at(now()) + 1)).status_code == 303


def test_the_first_organisers_link_is_made_until_there_is_one(site: Site) -> None:
    first, second = organiser_link(site), organiser_link(site)
    assert Browser(site).get(first.removeprefix("http://testserver")).status_code == 404
    assert Browser(site).get(second.removeprefix("http://testserver")).status_code == 200
    make_person(site, "olga", "organiser")
    assert organiser_link(site) == ""


@pytest.mark.slow
def test_the_demonstration_has_a_live_leaderboard(site: Site) -> None:
    tiny = DemoChoice(phantoms=1, matrix=48, slice_mm=5.0, types=("solid",), processes=1)
    steps: list[str] = []
    logins = fill(site, tiny, lambda what, *_: steps.append(what), runs=False)
    assert logins == [login for login, _, _ in PEOPLE]
    assert steps[0].startswith("phantom-0001: 48 x 48 x ")
    assert fill(site) == [], "nothing is made twice"
    assert work_off(site) == 5
    home = Browser(site).get("/").text
    assert "5 entries" in home
    path = home.split('href="/benchmarks/')[1].split('"')[0]
    browser = Browser(site)
    browser.sign_in("ada", PASSWORD)
    board = browser.get(f"/benchmarks/{path}").text
    for expected in ("1 synthetic chest CT scans", "yours", *DETECTORS, "Confident detections"):
        assert expected in board
    scan = re.search(r'href="([^"]+)">phantoms/phantom-0001.mhd', board)
    assert scan, board
    given = site.settings.sets / "phantoms" / "images" / "phantom-0001.mhd"
    assert browser.get(scan[1]).content == given.read_bytes()


def test_a_used_site_is_not_filled_with_demonstration_accounts(site: Site, ada: User) -> None:
    assert ada.account
    with pytest.raises(InputError, match="contains accounts already"):
        fill(site)
    assert 'href="/benchmarks/' not in Browser(site).get("/").text
