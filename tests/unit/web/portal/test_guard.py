"""The guard admits only what the table of rules allows, and no forms of other sites."""

import tomllib
from importlib.resources import files
from itertools import product

import pytest
from fastapi.routing import APIRoute
from starlette.routing import Mount

from builders.portal import ADDRESS, Browser, make_person, make_tiny_benchmark, signed_in
from nodulebench.web.portal import accounts
from nodulebench.web.portal.accounts.roles import ASSIGNABLE_ROLES, ROLES, RULES, may
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.app import ROUTERS, make_app
from nodulebench.web.portal.site import Site

ROUTES = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]


SESSIONS = {
    "project_session": "/projects/0/session/",
    "exam_session": "/exams/0/session/",
    "view": "/entries/0/view/",
}
"""Viewer applications behind one gateway; their content is tested elsewhere."""


def test_every_route_has_a_rule_and_every_rule_a_route() -> None:
    assert sorted((*(route.name for route in ROUTES), *SESSIONS)) == sorted(RULES)


def test_no_route_is_listed_for_two_kinds_of_users() -> None:
    listed = tomllib.loads(files(accounts).joinpath("roles.toml").read_text(encoding="utf-8"))
    assert sum(map(len, listed.values())) == len(RULES)


def test_there_are_no_other_routes(site: Site) -> None:
    """No page of FastAPI, no static folder."""
    names = {getattr(route, "name", "") for route in make_app(site).routes}
    assert {name for name in names if name} <= set(RULES)


def test_a_route_without_a_rule_is_closed(site: Site, organiser: User) -> None:
    app = make_app(site)

    @app.get("/forgotten", name="forgotten")
    def forgotten() -> str:
        return "reached"

    browser = signed_in(site, organiser.login)
    browser.wear(app)
    assert not any(may(frozenset(ROLES), name) for name in ("forgotten", "", "HOME"))
    answer = browser.get("/forgotten")
    assert answer.status_code == 403
    assert "reached" not in answer.text


@pytest.fixture
def everybody(site: Site) -> dict[str, Browser]:
    for role in ASSIGNABLE_ROLES:
        make_person(site, f"a.{role}", role)
    return {
        "public": Browser(site),
        **{role: signed_in(site, f"a.{role}") for role in ASSIGNABLE_ROLES},
    }


@pytest.mark.slow
def test_every_role_at_every_route(everybody: dict[str, Browser]) -> None:
    """The matrix: what the table refuses is refused, what it allows passes the guard."""
    wrong = []
    for (role, browser), route in product(everybody.items(), ROUTES):
        path = route.path
        for name in ("benchmark_id", "entry_id", "account_id", "job_id", "token_id", "link_id"):
            path = path.replace(f"{{{name}}}", "0" * 16)
        for name in ("project_id", "exam_id", "session_id", "announcement_id"):
            path = path.replace(f"{{{name}}}", "0")
        path = path.replace("{batch_id}", "b1")
        path = path.replace("{secret}", "guess").replace("{name}", "en")
        method = next(iter(route.methods - {"HEAD"}))
        # a form without its secret is refused after the rules: 403 form_old, with its own message
        answer = browser.client.request(method, path)
        is_refused = (
            (answer.status_code == 401 and "token_needed" not in answer.text)
            or (answer.status_code == 303 and "/sign-in" in answer.headers["location"])
            or "Your roles do not allow this" in answer.text
        )
        if is_refused == may(frozenset({role, "public"}), route.name):
            wrong.append((role, route.name, answer.status_code))
    assert wrong == []


def test_every_role_at_every_session(site: Site, everybody: dict[str, Browser]) -> None:
    mounted = {route.name for route in make_app(site).routes if isinstance(route, Mount)}
    assert mounted == set(SESSIONS)
    for (role, browser), (name, path) in product(everybody.items(), SESSIONS.items()):
        answer = browser.get(path)
        passes = may(frozenset({role, "public"}), name)
        expected = 404 if passes else 303 if role == "public" else 403
        assert answer.status_code == expected, (role, name)


def test_a_form_needs_the_secret_of_its_session(site: Site, as_ada: Browser, lin: User) -> None:
    other = signed_in(site, lin.login).secret("/account")
    for data in ({}, {"csrf": ""}, {"csrf": "guess"}, {"csrf": other}):
        answer = as_ada.client.post("/account/tokens", data={**data, "name": "x"})
        assert answer.status_code == 403
        assert "came from another site" in answer.text
    assert as_ada.post("/account/tokens", "/account", name="x").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Origin": "https://evil"}],
)
def test_a_form_of_another_site_is_refused(as_ada: Browser, headers: dict[str, str]) -> None:
    data = {"csrf": as_ada.secret("/account"), "name": "x"}
    assert as_ada.client.post("/account/tokens", data=data, headers=headers).status_code == 403
    data = {"csrf": as_ada.secret("/account"), "name": "x"}
    own = {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
    assert as_ada.client.post("/account/tokens", data=data, headers=own).status_code == 200


def test_signing_in_needs_the_secret_that_came_with_its_form(site: Site, ada: User) -> None:
    browser = Browser(site)
    given = {"login": ada.login, "password": "x", "csrf": "guess"}
    assert browser.client.post("/sign-in", data=given).status_code == 403


def test_signing_in_makes_a_new_cookie(site: Site, ada: User) -> None:
    """A cookie planted by an attacker is worthless after sign-in."""
    browser = Browser(site)
    browser.client.cookies.set("nodulebench", "planted")
    browser.sign_in(ada.login)
    assert browser.client.cookies.get("nodulebench", domain="testserver.local") != "planted"
    planted = Browser(site)
    planted.client.cookies.set("nodulebench", "planted")
    assert planted.get("/account").status_code == 303


def test_cookies_and_headers(site: Site, ada: User) -> None:
    browser = Browser(site)
    cookie = browser.sign_in(ada.login).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    answer = browser.get("/account")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "<script>" not in answer.text
    assert " style=" not in answer.text
    assert " on" + "click" not in answer.text


def test_cookies_are_secure_with_https(tmp_path) -> None:
    from dataclasses import replace

    from builders.portal import open_site

    site = open_site(tmp_path / "secure")
    secure = Site(replace(site.settings, address="https://x"), site.database, site.key)
    make_person(secure, "ada", "participant")
    browser = Browser(secure)
    cookie = browser.sign_in("ada").headers["set-cookie"]
    assert cookie.startswith("__Host-nodulebench=")
    assert "Secure" in cookie
    assert "includeSubDomains" in browser.get("/").headers["strict-transport-security"]
    other = Browser(secure)
    cookies = [other.get(path).headers["set-cookie"] for path in ("/sign-in", "/language/zh")]
    assert all(
        cookie.startswith("__Host-nodulebench-") and "Secure" in cookie for cookie in cookies
    )
    site.database.close()


def test_a_token_acts_for_its_account_until_it_is_ended(site: Site, as_ada: Browser) -> None:
    page = as_ada.post("/account/tokens", "/account", name="script").text
    token = page.split('<p class="secret"><code>')[1].split("<")[0]
    program = Browser(site)
    headers = {"Authorization": f"Bearer {token}"}
    assert program.client.get("/account", headers=headers).status_code == 200
    assert program.client.get("/account", headers={"Authorization": "Bearer x"}).status_code == 303
    path = page.split('action="/account/tokens/')[1].split('"')[0]
    assert as_ada.post(f"/account/tokens/{path}", "/account").status_code == 303
    assert program.client.get("/account", headers=headers).status_code == 303


def test_what_is_too_large_is_refused_as_it_comes(site: Site, organiser: User, ada: User) -> None:
    from dataclasses import replace

    small = Site(replace(site.settings, largest_upload=1000), site.database, site.key)
    benchmark = make_tiny_benchmark(small, organiser)
    browser = signed_in(small, ada.login)
    secret = browser.secret(f"/benchmarks/{benchmark}/submit")
    big = {"file": ("x.csv", b"x" * 1_100_000)}
    path = f"/benchmarks/{benchmark}/validate"
    assert browser.client.post(path, data={"csrf": secret}, files=big).status_code == 413
    little = {"file": ("x.csv", b"x" * 2000)}
    assert browser.client.post(path, data={"csrf": secret}, files=little).status_code == 413

    def endless():
        for _ in range(40):
            yield b"x" * 100_000

    form = {"Content-Type": "application/x-www-form-urlencoded"}
    path = "/account/tokens"
    assert browser.client.post(path, content=endless(), headers=form).status_code == 413
    assert list((small.settings.storage / "uploads").glob("*")) == []
