"""Access to reading sessions on a site, and what they disclose."""

import re

import pytest

from builders.attacked import OWN, TRIES, answers_of
from builders.portal import Browser, make_person, signed_in
from builders.site_projects import at_work, make_ball_project, opens_batch, with_accounts
from builders.working import NEXT_TO, PLACE, Person
from nodulebench.web.portal.accounts.service import change_roles
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.event_log import latest_events
from nodulebench.web.portal.projects.members import assign
from nodulebench.web.portal.projects.service import open_project_access
from nodulebench.web.portal.site import Site

PAGES = (
    "/projects",
    "/projects/{id}",
    "/projects/{id}/project.zip",
    "/projects/{id}/reference.zip",
    "/projects/new",
    "/log",
    "/dashboard",
    "/",
)


@pytest.fixture
def projects(site: Site, organiser: User) -> tuple[str, str]:
    """Two equal projects with the same people."""
    made = tuple(make_ball_project(site, organiser, "a") for _ in range(2))
    names = ("r1", "r2", "r3", "lead2", "judge1")
    people = with_accounts(site, made[0], organiser, *names)
    for project in made:
        access = open_project_access(site, project, organiser.account)
        assign(access, organiser.account, "office", organiser.account)
        for name, account in people.items():
            assign(access, organiser.account, name, account.account)
        assert opens_batch(signed_in(site, "olga"), project, reviewer="lead2").status_code == 303
    return made[0], made[1]


def answers(site: Site, project: str, person: Person) -> dict[str, str]:
    """All that a person can see of a project, on every route of the session and every page."""
    steps = [
        f"/scans/{scan['number']}/submit" for scan in person.ask("/scans") if scan["mode"] != "done"
    ]
    texts = dict(answers_of(person.client, but=steps, where=person.where))
    for page in PAGES:
        response = person.client.get(page.format(id=project))
        assert response.headers["cache-control"] == "no-store"
        texts[page] = f"{response.status_code} {response.text}"
    match = re.search(r'data-session="(\w+)"', texts["GET / 0"])
    assert match
    assert str(site.settings.storage) not in "".join(texts.values())
    hidden = re.compile(rf"{project}|{match[1]}|value=\"[\w-]{{40,}}\"")
    return {name: hidden.sub("X", text) for name, text in texts.items() if name != "/projects"}


@pytest.mark.slow
def test_answers_to_a_reader_do_not_depend_on_other_readers(
    site: Site, projects: tuple[str, str]
) -> None:
    full, empty = projects
    spies = [at_work(site, project, "r1") for project in projects]
    for spy in spies:
        spy._tab = "tab"

    def same() -> None:
        both = [answers(site, project, spy) for project, spy in zip(projects, spies, strict=True)]
        assert [name for name in both[0] if both[0][name] != both[1][name]] == []

    for name in ("r2", "r3"):
        other = at_work(site, full, name)
        for number, place in enumerate((NEXT_TO, PLACE)):
            other.draw(0, f"f{number}", place, 3, type="part_solid")
        other.submit(0)
        at_work(site, empty, name).submit(0)
    same()
    for spy in spies:
        spy.draw(0, "mine", PLACE, 4)
        spy.submit(0)
    assert [spy.ask("/scans")[0]["mode"] for spy in spies] == ["type", "type"]
    same()


@pytest.mark.slow
def test_only_members_are_admitted_and_refusals_are_logged(
    site: Site, projects: tuple[str, str], organiser: User
) -> None:
    stranger = make_person(site, "stranger", "reader", "team_leader", "arbitrator")
    make_person(site, "ada", "participant")
    for login, status in (("stranger", 404), (organiser.login, 403), ("ada", 403)):
        browser = signed_in(site, login)
        where = f"/projects/{projects[0]}/session"
        answers = dict(answers_of(browser.client, where=where))
        assert {text.partition(" ")[0] for text in answers.values()} == {str(status)}
        assert len(answers) >= len(TRIES)
        assert browser.get(f"{where}/static/main.js").status_code == status
    with site.database.reading() as session:
        refused = [
            event for event in latest_events(session, None, 400) if event.action == "refused"
        ]
    assert stranger.account in {event.account for event in refused}


def test_anonymous_users_are_sent_to_sign_in_and_edits_wait(
    site: Site, projects: tuple[str, str]
) -> None:
    where = f"/projects/{projects[0]}/session"
    anonymous = Browser(site)
    answer = anonymous.get(f"{where}/")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={where}/")
    assert anonymous.get(f"{where}/scans").status_code == 401
    assert anonymous.client.post(f"{where}/scans/0/edits", json={}, headers=OWN).status_code == 401


def test_other_sites_cannot_act_for_a_reader(site: Site, projects: tuple[str, str]) -> None:
    person = at_work(site, projects[0], "r1")
    for headers in (
        {},
        {**OWN, "Origin": "https://evil"},
        {**OWN, "Sec-Fetch-Site": "cross-site"},
        {**OWN, "Sec-Fetch-Site": "same-site"},
    ):
        answer = person.client.post(f"{person.where}/scans/0/submit", headers=headers)
        assert answer.status_code == 403, headers
        assert person.ask("/scans")[0]["mode"] == "read"


def test_a_token_opens_no_session(site: Site, projects: tuple[str, str]) -> None:
    """Programs must not read scans in a person's name."""
    reader = signed_in(site, "r1.x")
    page = reader.post("/account/tokens", "/account", name="mine").text
    secret = re.search(r"<code>([\w-]{40,})</code>", page)
    assert secret
    program = Browser(site)
    headers = {"Authorization": f"Bearer {secret[1]}"}
    path = f"/projects/{projects[0]}/session/scans"
    assert program.client.get(path, headers=headers).status_code == 401


def test_a_reader_who_becomes_organiser_stays_blind(
    site: Site, projects: tuple[str, str], organiser: User
) -> None:
    access = open_project_access(site, projects[0], organiser.account)
    with site.database.reading() as session:
        from nodulebench.web.portal.projects.members import members_of

        reader = members_of(session, access.project_id)["r1"].account
    change_roles(site, reader, ("reader", "organiser"), organiser.account)
    browser = signed_in(site, "r1.x")
    for name in ("project.zip", "reference.zip"):
        assert browser.get(f"/projects/{projects[0]}/{name}").status_code == 403
    page = browser.get(f"/projects/{projects[0]}")
    assert "Submitted readings" not in page.text
    handle = browser.get("/dashboard").text
    line = handle.partition(f'href="/projects/{projects[0]}"')[2].partition("</tr>")[0]
    assert "you are a reader in this project" in line
    assert "<progress" not in line
    assert browser.get(f"/projects/{projects[0]}/session/scans").status_code == 403


def test_sessions_use_the_chosen_language(site: Site, projects: tuple[str, str]) -> None:
    person = at_work(site, projects[0], "r1")
    assert "← Projects" in person.client.get(f"{person.where}/").text
    person.client.get("/language/zh")
    page = person.client.get(f"{person.where}/")
    assert "阅片项目" in page.text
    assert "blob:" in page.headers["content-security-policy"]
    assert "阅片" in person.client.get("/projects").text
