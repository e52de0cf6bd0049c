"""An annotation project on a site: its accounts and their sessions."""

import tomllib

from builders.annotation import two_teams
from builders.portal import Browser, make_person, signed_in
from builders.reading import write_scans
from builders.working import Person
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.projects.members import NEEDS, assign
from nodulebench.web.portal.projects.service import (
    ProjectOptions,
    make_project,
    open_project_access,
)
from nodulebench.web.portal.site import Site

SCANS = "balls"


def roster_text() -> str:
    """The two teams as TOML."""
    roster = two_teams()
    lines = []
    for person in roster.people:
        roles = ", ".join(f'"{role}"' for role in person.roles)
        lines += [
            "[[people]]",
            f'person_id = "{person.person_id}"',
            f'title = "{person.title}"',
            f"years_reading = {person.years_reading}",
            f"roles = [{roles}]",
        ]
    for team in roster.teams:
        readers = ", ".join(f'"{name}"' for name in team.reader_ids)
        lines += [
            "[[teams]]",
            f'team_id = "{team.team_id}"',
            f"reader_ids = [{readers}]",
            f'leader_id = "{team.leader_id}"',
        ]
    text = "\n".join(lines) + "\n"
    assert tomllib.loads(text)
    return text


def make_ball_project(site: Site, by: User, *cases: str) -> str:
    """A project on scans of a ball."""
    write_scans(site.settings.scan_sets / SCANS, *cases)
    options = ProjectOptions(title="Balls", images=SCANS, roster=roster_text().encode())
    return make_project(site, by.account, options)


def with_accounts(site: Site, project_id: str, by: User, *names: str) -> dict[str, User]:
    """Accounts for people of a project, each named as the person."""
    access = open_project_access(site, project_id, by.account)
    users = {}
    for name in names:
        person = access.base.workflow.roster.person(name)
        made = make_person(site, f"{name}.x", *(NEEDS[role] for role in person.roles))
        assign(access, by.account, name, made.account)
        users[name] = made
    return users


def at_work(site: Site, project_id: str, name: str) -> Person:
    """A signed-in person in their session."""
    browser: Browser = signed_in(site, f"{name}.x")
    return Person(browser.client, f"/projects/{project_id}/session")


def opens_batch(browser: Browser, project_id: str, **given: str) -> object:
    """Open a batch by the form of the project's page."""
    page = f"/projects/{project_id}"
    return browser.post(f"{page}/batches", page, batch="b1", team="one", **given)
