"""Sign-in with an OpenID provider, and every way to forge it."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import pytest
from joserfc.jwk import RSAKey
from joserfc.jwt import encode
from sqlalchemy import delete, select

from builders.oidc_provider import CLIENT, SECRET, FakeProvider, oidc_provider, query_of
from builders.portal import PASSWORD, Browser, make_person, signed_in
from nodulebench.web.portal.accounts import oidc as protocol
from nodulebench.web.portal.accounts.oidc import Provider, is_safe
from nodulebench.web.portal.accounts.service import close_account
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.event_log import check_log, latest_events
from nodulebench.web.portal.database.models import Account, Attempt, Identity, Session, Setting
from nodulebench.web.portal.site import Site

COOKIE = "nodulebench-oidc"


@pytest.fixture
def provider() -> Iterator[FakeProvider]:
    with oidc_provider() as started:
        yield started


@pytest.fixture
def joined(site: Site, provider: FakeProvider) -> Site:
    """A site that trusts the provider."""
    believed = Provider(provider.issuer, CLIENT, SECRET, "The hospital")
    return Site(replace(site.settings, provider=believed), site.database, site.key)


@pytest.fixture
def known(joined: Site, provider: FakeProvider, ada: User) -> User:
    """Ada's account, connected with a user of the provider."""
    with joined.database.writing() as session:
        session.add(
            Identity(issuer=provider.issuer, subject=provider.subject, account_id=ada.account)
        )
    return ada


def opened(site: Site) -> None:
    with site.database.writing() as session:
        session.add(Setting(name="registration", value={"is_open": True}))


def went(browser: Browser, provider: FakeProvider) -> str:
    """Go to the provider and back; return the URL that it redirects the browser to."""
    answer = browser.get("/sign-in/oidc")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{provider.issuer}/authorize?")
    return provider.allow(answer.headers["location"])


def who(browser: Browser) -> str:
    """The login of the signed-in user; empty if no one is signed in."""
    page = browser.get("/account")
    return page.text.split('<p class="muted">')[1].split(" ")[0] if page.status_code == 200 else ""


def actions(site: Site) -> list[str]:
    with site.database.reading() as session:
        return [event.action for event in latest_events(session, None, 20)]


def test_a_user_of_the_provider_signs_in(joined: Site, provider: FakeProvider, known: User) -> None:
    browser = Browser(joined)
    assert "The hospital" in browser.get("/sign-in").text
    answer = browser.get(went(browser, provider))
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert who(browser) == known.login
    cookies = answer.headers.get_list("set-cookie")
    assert any(cooky.startswith('nodulebench-oidc=""') for cooky in cookies)
    assert all("HttpOnly" in cooky for cooky in cookies if cooky.startswith("nodulebench="))
    with joined.database.reading() as session:
        (event,) = [
            event for event in latest_events(session, None, 3) if event.action == "signed_in"
        ]
        assert (event.account, dict(event.facts)["by"]) == (known.account, provider.issuer)
        assert check_log(session, joined.key).problems == []


def test_a_matching_name_or_mail_is_not_enough(
    joined: Site, provider: FakeProvider, ada: User
) -> None:
    """The provider says 'ada' and 'ada@example.org'; the account ada belongs to someone else."""
    make_person(joined, "ada@example.org", "organiser")
    browser = Browser(joined)
    answer = browser.get(went(browser, provider))
    assert answer.status_code == 403
    assert "no account" in answer.text
    assert who(browser) == ""
    assert "sign_in_failed" in actions(joined)
    assert ada.login == "ada"


def test_open_registration_makes_an_account(joined: Site, provider: FakeProvider) -> None:
    opened(joined)
    browser = Browser(joined)
    assert browser.get(went(browser, provider)).status_code == 303
    login = who(browser)
    assert login.startswith("oidc-")
    again = Browser(joined)
    assert again.get(went(again, provider)).status_code == 303
    assert who(again) == login
    provider.subject = "another user"
    other = Browser(joined)
    assert other.get(went(other, provider)).status_code == 303
    assert who(other) != login
    with joined.database.reading() as session:
        made = session.scalars(select(Account).where(Account.login == login)).one()
    assert (made.roles, made.password, made.name) == (["participant"], None, "Ada of the provider")


def test_an_account_is_connected_by_its_password_and_disconnected(
    joined: Site, provider: FakeProvider, ada: User
) -> None:
    browser = signed_in(joined, ada.login)
    wrong = browser.post("/account/oidc/connect", "/account", old="a wrong password")
    assert wrong.status_code == 403
    page = browser.post("/account/oidc/connect", "/account", old=PASSWORD)
    to = page.text.split(f'href="{provider.issuer}')[1].split('"')[0].replace("&amp;", "&")
    assert browser.get(provider.allow(provider.issuer + to)).headers["location"] == "/account"
    again = Browser(joined)
    assert again.get(went(again, provider)).status_code == 303
    assert who(again) == ada.login
    assert browser.post("/account/oidc/end", "/account").status_code == 303
    third = Browser(joined)
    assert third.get(went(third, provider)).status_code == 403


@pytest.mark.slow
def test_a_person_of_another_account_cannot_be_connected(
    joined: Site, provider: FakeProvider, known: User, lin: User
) -> None:
    browser = signed_in(joined, lin.login)
    page = browser.post("/account/oidc/connect", "/account", old=PASSWORD)
    to = page.text.split(f'href="{provider.issuer}')[1].split('"')[0].replace("&amp;", "&")
    assert browser.get(provider.allow(provider.issuer + to)).status_code == 409
    with joined.database.reading() as session:
        assert session.scalars(select(Identity.account_id)).all() == [known.account]


def test_an_account_without_a_password_keeps_its_provider(
    joined: Site, provider: FakeProvider
) -> None:
    opened(joined)
    browser = Browser(joined)
    browser.get(went(browser, provider))
    assert browser.post("/account/oidc/end", "/account").status_code == 409


def test_a_closed_account_cannot_sign_in_by_the_provider(
    joined: Site, provider: FakeProvider, known: User
) -> None:
    close_account(joined, known.account, known.account)
    browser = Browser(joined)
    assert browser.get(went(browser, provider)).status_code == 403
    with joined.database.reading() as session:
        assert session.scalar(select(Identity.subject)) is None


# what an attacker sends back


@pytest.mark.usefixtures("known")
def test_a_changed_response_is_refused(joined: Site, provider: FakeProvider) -> None:
    provider.about = {"authorization_response_iss_parameter_supported": True}
    browser = Browser(joined)
    for what, value in product(("state", "code", "iss"), ("", "guessed")):
        back = went(browser, provider)
        given = {**query_of(back), what: value}
        answer = browser.client.get(back.partition("?")[0], params=given)
        assert answer.status_code in (403, 502)
        assert who(browser) == ""
    assert browser.get(went(browser, provider)).status_code == 303


@pytest.mark.usefixtures("known")
def test_a_response_is_valid_once_in_the_asking_browser(
    joined: Site, provider: FakeProvider
) -> None:
    browser, victim = Browser(joined), Browser(joined)
    back = went(browser, provider)
    assert victim.get(back).status_code == 403  # sent to a victim, to sign them in as the attacker
    went(victim, provider)
    assert victim.get(back).status_code == 403
    cookie = browser.client.cookies[COOKIE]
    assert browser.get(back).status_code == 303
    replayed = Browser(joined)
    replayed.client.cookies.set(COOKIE, cookie)
    assert replayed.get(back).status_code in (403, 502)
    assert who(replayed) == ""
    assert "refused" in actions(joined)


def test_a_foreign_link_connects_no_one(joined: Site, provider: FakeProvider, lin: User) -> None:
    """Begun by an attacker, completed in the browser of a signed-in user with its cookie."""
    hostile, victim = Browser(joined), signed_in(joined, lin.login)
    back = went(hostile, provider)
    victim.client.cookies.set(COOKIE, hostile.client.cookies[COOKIE])
    assert victim.get(back).status_code == 403
    with joined.database.reading() as session:
        assert session.scalar(select(Identity.subject)) is None
    assert victim.get("/sign-in/oidc").headers["location"] == "/account"


WRONG_CLAIMS = {
    "another issuer": {"iss": "https://evil.example"},
    "for another site": {"aud": "another"},
    "for two, by another": {"aud": [CLIENT, "another"], "azp": "another"},
    "for two, without azp": {"aud": [CLIENT, "another"]},
    "handed on": {"azp": "another"},
    "of another authorization": {"nonce": "of another authorization"},
    "nonce in a list": {"nonce": ["x"]},
    "expired": {"exp": int(time.time()) - 3600},
    "of the future": {"iat": int(time.time()) + 3600},
    "not yet": {"nbf": int(time.time()) + 3600},
    "empty subject": {"sub": ""},
    "a number": {"sub": 7},
    "endless": {"sub": "x" * 300},
}


def entered(site: Site, provider: FakeProvider, browser: Browser) -> bool:
    """Whether the sign-in succeeds; earlier failures are forgotten."""
    with site.database.writing() as session:
        session.execute(delete(Attempt))
        session.execute(delete(Session))
    browser.client.cookies.clear()
    status = browser.get(went(browser, provider)).status_code
    with site.database.reading() as session:
        is_in = session.scalar(select(Session.id)) is not None
    assert status == (303 if is_in else 403)
    return is_in


@pytest.mark.usefixtures("known")
def test_a_token_with_a_wrong_or_missing_claim_is_refused(
    joined: Site, provider: FakeProvider
) -> None:
    browser = Browser(joined)
    assert entered(joined, provider, browser)
    for lie, claims_changed in WRONG_CLAIMS.items():
        provider.change = lambda claims: {**claims, **claims_changed}  # noqa: B023
        assert not entered(joined, provider, browser), lie
    for name in ("iss", "aud", "nonce", "sub", "exp", "iat"):
        provider.change = lambda claims: {k: v for k, v in claims.items() if k != name}  # noqa: B023
        assert not entered(joined, provider, browser), name
    for truth in ({"aud": [CLIENT]}, {"aud": [CLIENT, "another"], "azp": CLIENT}, {"azp": CLIENT}):
        provider.change = lambda claims: {**claims, **truth}  # noqa: B023
        assert entered(joined, provider, browser), truth


def _part(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).rstrip(b"=").decode()


def unsigned(claims: dict[str, object], _: FakeProvider) -> str:
    return f"{_part({'alg': 'none'})}.{_part(claims)}."


def by_public_key(claims: dict[str, object], provider: FakeProvider) -> str:
    """HMAC with the public key, which a careless verifier accepts."""
    whole = f"{_part({'alg': 'HS256', 'kid': provider.key.kid})}.{_part(claims)}"
    mac = hmac.new(provider.key.as_pem(private=False), whole.encode(), hashlib.sha256).digest()
    return f"{whole}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def by_secret(claims: dict[str, object], provider: FakeProvider) -> str:
    whole = f"{_part({'alg': 'HS256', 'kid': provider.key.kid})}.{_part(claims)}"
    mac = hmac.new(SECRET.encode(), whole.encode(), hashlib.sha256).digest()
    return f"{whole}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"


def by_another(claims: dict[str, object], provider: FakeProvider) -> str:
    return encode({"alg": "RS256", "kid": provider.key.kid}, claims, RSAKey.generate_key(2048))


def with_own_key(claims: dict[str, object], _: FakeProvider) -> str:
    key = RSAKey.generate_key(2048)
    header = {"alg": "RS256", "kid": "mine", "jwk": key.as_dict(private=False)}
    return encode(header, claims, key)


def changed(claims: dict[str, object], provider: FakeProvider) -> str:
    head, _, code = provider.signed(claims).split(".")
    return f"{head}.{_part({**claims, 'sub': 'olga'})}.{code}"


def nothing(_claims: dict[str, object], _: FakeProvider) -> str:
    return "not a token"


@pytest.mark.usefixtures("known")
def test_a_token_of_another_signer_is_refused(joined: Site, provider: FakeProvider) -> None:
    browser = Browser(joined)
    for sign in (unsigned, by_public_key, by_secret, by_another, with_own_key, changed, nothing):
        provider.sign = lambda claims: sign(claims, provider)  # noqa: B023
        assert not entered(joined, provider, browser), sign
    provider.sign = None
    assert entered(joined, provider, browser)


@pytest.mark.usefixtures("known")
def test_new_keys_of_the_provider_are_requested_at_a_limited_rate(
    joined: Site, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(joined)
    assert browser.get(went(browser, provider)).status_code == 303
    provider.key = RSAKey.generate_key(2048, {"kid": "two"})
    app = browser.client.app
    for _ in range(3):
        other = Browser(joined)
        other.wear(app)
        assert other.get(went(other, provider)).status_code == 403
    assert provider.asked.count("/jwks") == 1
    monkeypatch.setattr(protocol, "KEYS_S", -1.0)
    other = Browser(joined)
    other.wear(app)
    assert other.get(went(other, provider)).status_code == 303
    assert provider.asked.count("/jwks") == 2


@pytest.mark.parametrize(
    "about",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": None},
    ],
)
def test_a_provider_with_a_wrong_issuer_is_not_used(
    joined: Site, provider: FakeProvider, about: dict[str, object]
) -> None:
    provider.about = about
    assert Browser(joined).get("/sign-in/oidc").status_code == 502


@pytest.mark.usefixtures("known")
def test_strange_answers_of_the_provider_sign_no_one_in(
    joined: Site, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser(joined)
    for status, body in {
        302: b"http://127.0.0.1:1/",
        200: b"x" * 300_000,
        201: b"[]",
        202: b"{",
        500: b"",
    }.items():
        back = went(browser, provider)
        monkeypatch.setattr(provider, "_token", lambda *_: (status, body))  # noqa: B023
        assert browser.get(back).status_code in (403, 502)
        assert who(browser) == ""


def test_an_unreachable_provider_is_reported(joined: Site, provider: FakeProvider) -> None:
    provider.issuer = "http://127.0.0.1:1"
    away = replace(joined.settings, provider=Provider(provider.issuer, CLIENT))
    answer = Browser(Site(away, joined.database, joined.key)).get("/sign-in/oidc")
    assert answer.status_code == 502
    assert "does not answer" in answer.text


def test_many_invalid_responses_are_throttled(joined: Site, provider: FakeProvider) -> None:
    browser = Browser(joined)
    for _ in range(10):
        assert browser.get("/sign-in/oidc/return?state=x&code=y").status_code == 403
    assert browser.get("/sign-in/oidc/return?state=x&code=y").status_code == 429
    assert provider.asked.count("/token") == 0


def test_a_site_without_a_provider_has_no_such_pages(site: Site, as_ada: Browser) -> None:
    public = Browser(site)
    assert public.get("/sign-in/oidc").status_code == 404
    assert public.get("/sign-in/oidc/return?state=x&code=y").status_code == 404
    assert "oidc" not in public.get("/sign-in").text
    assert "oidc" not in as_ada.get("/account").text


def test_providers_need_https_except_on_loopback() -> None:
    assert is_safe("https://id.example")
    assert is_safe("http://127.0.0.1:8080/x", "http://localhost:8080")
    assert not is_safe("http://id.example")
    assert not is_safe("http://127.0.0.1/x", "https://id.example")
    assert not is_safe("file:///etc/passwd")
