"""Links work once; passwords, throttling and roles; all actions are logged."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from builders.portal import PASSWORD, Browser, make_person, signed_in
from nodulebench.web.portal.accounts import service as accounts
from nodulebench.web.portal.accounts.credentials import (
    MAX_PER_NAME,
    code_at,
    new_totp_secret,
    password_problem,
    step_at,
)
from nodulebench.web.portal.accounts.service import DeniedError, make_link, sign_in, use_link
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import Account, Invitation, Session, now
from nodulebench.web.portal.site import Site


def actions(site: Site) -> list[str]:
    with site.database.reading() as session:
        check = check_log(session, site.key)
    assert check.problems == []
    return [event.action for event in check.events]


def refused(code: str):
    return pytest.raises(DeniedError, match=f"^{code}$")


def enter(site: Site, login: str, password: str = PASSWORD, code: str = "", address: str = "a"):
    return sign_in(site, login, password, code, address=address, agent="test")


def test_a_link_makes_one_account_once(site: Site) -> None:
    link = make_link(site, ("participant",), "")
    use_link(site, link, " Ada ", "Ada", PASSWORD)
    with refused("link_ended"):
        use_link(site, link, "eve", "Eve", PASSWORD)
    with refused("link_ended"):
        use_link(site, "guessed", "eve", "Eve", PASSWORD)
    assert enter(site, "ada").account
    assert actions(site) == ["invited", "account_made", "signed_in"]


def test_an_old_link_has_expired(site: Site) -> None:
    link = make_link(site, ("participant",), "")
    with site.database.writing() as session:
        session.scalars(select(Invitation)).one().expires_at = now() - timedelta(seconds=1)
    with refused("link_ended"):
        use_link(site, link, "ada", "Ada", PASSWORD)


@pytest.mark.parametrize(
    ("login", "name", "password", "code"),
    [
        ("a", "Ada", PASSWORD, "login_form"),
        ("a b c", "Ada", PASSWORD, "login_form"),
        ("ada", " ", PASSWORD, "name_form"),
        ("ada", "A\x1bda", PASSWORD, "name_form"),
        ("ada", "Ada", "short", "password_short"),
        ("ada", "Ada", "x" * 257, "password_long"),
        ("ada", "Ada", "aaaabbbbaaaabbbb", "password_easy"),
        ("ada.long", "Ada", "my ada.long password", "password_easy"),
        ("olga", "Ada", PASSWORD, "login_taken"),
    ],
)
def test_an_invalid_account_leaves_the_link_unused(
    site: Site, organiser: User, login: str, name: str, password: str, code: str
) -> None:
    link = make_link(site, ("participant",), organiser.account)
    with refused(code):
        use_link(site, link, login, name, password)
    use_link(site, link, "ada", "Ada", PASSWORD)


def test_a_password_is_stored_only_as_argon2(site: Site, ada: User) -> None:
    with site.database.reading() as session:
        stored_hash = session.get_one(Account, ada.account).password
    assert stored_hash is not None
    assert stored_hash.startswith("$argon2id$")
    assert PASSWORD not in stored_hash


def test_a_wrong_password_and_an_unknown_login_are_indistinguishable(site: Site, ada: User) -> None:
    for login, password in ((ada.login, "wrong password"), ("unknown", PASSWORD)):
        with refused("sign_in_wrong"):
            enter(site, login, password)
    assert actions(site)[-2:] == ["sign_in_failed"] * 2


def test_after_many_attempts_the_right_password_waits_too(site: Site, ada: User) -> None:
    for number in range(MAX_PER_NAME):
        with refused("sign_in_wrong"):
            enter(site, ada.login, "wrong password", address=f"address {number}")
    with refused("too_many_attempts"):
        enter(site, ada.login)
    assert actions(site)[-1] == "sign_in_throttled"


def test_password_spraying_is_stopped_by_address(
    site: Site, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodulebench.web.portal.accounts.credentials.MAX_PER_ADDRESS", 3)
    for number in range(3):
        with refused("sign_in_wrong"):
            enter(site, f"name{number}")
    with refused("too_many_attempts"):
        enter(site, ada.login)
    assert enter(site, ada.login, address="elsewhere")


def test_ipv6_addresses_of_a_network_count_together(
    site: Site, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodulebench.web.portal.accounts.credentials.MAX_PER_ADDRESS", 2)
    for number in range(2):
        with refused("sign_in_wrong"):
            enter(site, f"name{number}", address=f"2001:db8:0:1::{number}")
    with refused("too_many_attempts"):
        enter(site, ada.login, address="2001:db8:0:1:ffff::7")
    assert enter(site, ada.login, address="2001:db8:0:2::1")


def test_a_second_factor_is_asked_for_and_counts_once(site: Site, ada: User) -> None:
    totp_secret = new_totp_secret()
    with site.database.writing() as session:
        session.get_one(Account, ada.account).totp_secret = totp_secret
    with refused("sign_in_wrong"):
        enter(site, ada.login)
    code = code_at(totp_secret, step_at(now()))
    assert enter(site, ada.login, code=code)
    with refused("sign_in_wrong"):
        enter(site, ada.login, code=code)


@pytest.mark.slow
def test_an_organisers_link_sets_a_password_and_ends_all_sessions(
    site: Site, organiser: User, ada: User
) -> None:
    browser = signed_in(site, ada.login)
    link = make_link(site, (), organiser.account, ada.account)
    use_link(site, link, "ignored", "ignored", "another long password")
    assert browser.get("/account").status_code == 303
    with refused("sign_in_wrong"):
        enter(site, ada.login)
    assert enter(site, ada.login, "another long password").account == ada.account


def test_a_changed_password_ends_the_other_sessions(site: Site, ada: User) -> None:
    first, second = signed_in(site, ada.login), signed_in(site, ada.login)
    words = dict.fromkeys(("password", "again"), "new long password")
    changed = first.post("/account/password", "/account", old=PASSWORD, **words)
    assert changed.status_code == 200
    assert first.get("/account").status_code == 200
    assert second.get("/account").status_code == 303


def test_the_last_organiser_stays(site: Site, organiser: User) -> None:
    with refused("last_organiser"):
        accounts.close_account(site, organiser.account, organiser.account)
    with refused("last_organiser"):
        accounts.change_roles(site, organiser.account, ("reader",), organiser.account)
    make_person(site, "otto", "organiser")
    accounts.close_account(site, organiser.account, organiser.account)
    assert actions(site)[-1] == "account_closed"


def test_a_closed_account_has_no_name_and_cannot_sign_in(site: Site, ada: User) -> None:
    browser = signed_in(site, ada.login)
    accounts.close_account(site, ada.account, ada.account)
    assert browser.get("/account").status_code == 303
    with refused("sign_in_wrong"):
        enter(site, ada.login)
    with site.database.reading() as session:
        account = session.get_one(Account, ada.account)
        assert (account.name, account.password, account.roles) == ("", None, [])
        assert session.scalar(select(func.count()).select_from(Session)) == 0


def test_other_roles_count_at_once(site: Site, organiser: User, as_ada: Browser) -> None:
    ada = as_ada.sign_in("ada")
    assert ada.status_code == 303
    with site.database.reading() as session:
        account = session.scalars(select(Account.id).where(Account.login == "ada")).one()
    accounts.change_roles(site, account, ("auditor", "public", "king"), organiser.account)
    browser = signed_in(site, "ada")
    assert browser.get("/log").status_code == 200
    assert browser.get("/people").status_code == 403


def test_a_password_counts_to_its_last_space(site: Site, ada: User) -> None:
    """Neither spaces nor characters after the maximum length are dropped."""
    browser = signed_in(site, ada.login)
    spaced = f" {PASSWORD} "
    given = {"old": PASSWORD, "password": spaced, "again": spaced}
    assert browser.post("/account/password", "/account", **given).status_code == 200
    assert Browser(site).sign_in(ada.login, spaced).status_code == 303
    assert Browser(site).sign_in(ada.login, PASSWORD).status_code == 401
    longest = "qrstuvwx" * 32
    given = {"old": spaced, "password": longest, "again": longest}
    assert browser.post("/account/password", "/account", **given).status_code == 200
    assert Browser(site).sign_in(ada.login, longest).status_code == 303
    assert Browser(site).sign_in(ada.login, longest + "y").status_code == 401


@pytest.mark.parametrize(
    "easy",
    ["NoduleBench2026", "password12345", "luna16luna16luna16", "Leaderboard!!!!", "ada-ada-ada-x"],
)
def test_common_passwords_are_refused(easy: str) -> None:
    assert password_problem(easy, "ada") == "password_easy"
    assert password_problem(f"{easy} staples", "lin") == ""


def test_a_new_sign_in_ends_the_old_session(site: Site, ada: User) -> None:
    browser, other = signed_in(site, ada.login), signed_in(site, ada.login)
    old = browser.client.cookies["nodulebench"]
    assert browser.sign_in(ada.login).status_code == 303
    left = Browser(site)
    left.client.cookies.set("nodulebench", old)
    assert left.get("/account").status_code == 303
    assert other.get("/account").status_code == 200  # another device stays


def test_a_second_factor_asks_for_the_password_and_ends_other_sessions(
    site: Site, ada: User
) -> None:
    browser, other = signed_in(site, ada.login), signed_in(site, ada.login)
    wrong = browser.post("/account/totp/begin", "/account", old="another password")
    assert (wrong.status_code, 'class="secret"' in wrong.text) == (403, False)
    page = browser.post("/account/totp/begin", "/account", old=PASSWORD).text
    secret = page.split('<p class="secret"><code>')[1].split("<")[0]
    given = {"totp_secret": secret, "code": code_at(secret, step_at(now()))}
    assert browser.post("/account/totp/confirm", "/account", **given).status_code == 303
    assert (browser.get("/account").status_code, other.get("/account").status_code) == (200, 303)
