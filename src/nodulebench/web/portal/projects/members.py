"""Accounts as people of a project: which account may be which person."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, select
from sqlalchemy.orm import Session as Transaction

from nodulebench.annotation.people import READING_ROLES, Person
from nodulebench.annotation.people import Role as RosterRole
from nodulebench.core.errors import InputError
from nodulebench.web.portal.accounts.roles import Role
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.database.models import Account, ProjectExam, ProjectMember
from nodulebench.web.portal.exams.service import passed_accounts
from nodulebench.web.portal.projects.store import ProjectAccess
from nodulebench.web.portal.site import Site

NEEDS: Final[Mapping[RosterRole, Role]] = {
    "junior": "reader",
    "panel": "reader",
    "leader": "team_leader",
    "arbitrator": "arbitrator",
    "organiser": "organiser",
    "commission": "auditor",
}
"""The role that an account needs for each role of a roster; other roles need none."""


def needed(person: Person) -> frozenset[str]:
    return frozenset(NEEDS[role] for role in person.roles if role in NEEDS)


def reads(person: Person) -> bool:
    """Whether a person reads, reviews or arbitrates, and must not see what organisers see."""
    return bool(set(person.roles) & set(READING_ROLES))


def can_be(person: Person, roles: frozenset[str]) -> bool:
    """Whether these roles allow it; organisers can download readings, so they cannot be readers."""
    return needed(person) <= roles and not (reads(person) and "organiser" in roles)


def exam_of_project(session: Transaction, project_id: str) -> str | None:
    project_exam = session.get(ProjectExam, project_id)
    return None if project_exam is None else project_exam.exam_id


def has_passed(person: Person, account: str, passed: frozenset[str] | None) -> bool:
    return passed is None or not reads(person) or account in passed


@dataclass(frozen=True, slots=True)
class Member:
    """An account that takes part in a project."""

    account: str
    login: str
    name: str
    person: str


def account_of(site: Site, login: str) -> str:
    with site.database.reading() as session:
        account = session.scalar(select(Account.id).where(Account.login == login))
    if account is None:
        remedy = "Create an account with a link of the page 'People'."
        raise InputError.at(f"login '{login}'", "has no account.", remedy)
    return account


def members_of(session: Transaction, project_id: str) -> dict[str, Member]:
    rows = select(ProjectMember).where(ProjectMember.project_id == project_id)
    return {
        member.person: Member(
            member.account_id, member.account.login, member.account.name, member.person
        )
        for member in session.scalars(rows)
    }


def person_of(session: Transaction, project_id: str, account: str) -> str | None:
    own = select(ProjectMember.person).where(
        ProjectMember.project_id == project_id, ProjectMember.account_id == account
    )
    return session.scalar(own)


def is_blind(session: Transaction, access: ProjectAccess, account: str) -> bool:
    """Whether an account reads in a project, regardless of roles it got since."""
    person = person_of(session, access.project_id, account)
    return person is not None and reads(access.base.workflow.roster.person(person))


def assign(access: ProjectAccess, by: str, person_id: str, account: str) -> None:
    """Assign an account to a person of a project; empty: remove the account.

    Refused if the account lacks roles, has not passed the exam or is another person, or if the
    person has acted already: two accounts must not share one reading.
    """
    person = access.base.workflow.roster.person(person_id)
    facts = {"project": access.project_id, "person": person_id, "of": account or None}
    with access.acting() as session:
        events = access.on(session).log.read()
        before = members_of(session, access.project_id).get(person_id)
        if before is not None and before.account == account:
            return
        if before is not None and any(event.person == person_id for event in events):
            raise DeniedError("person_acted", 409)
        session.execute(
            delete(ProjectMember).where(
                ProjectMember.project_id == access.project_id, ProjectMember.person == person_id
            )
        )
        if account:
            stored = session.get(Account, account)
            if stored is None or stored.closed_at is not None:
                raise DeniedError("not_found", 404)
            if not can_be(person, frozenset(stored.roles)):
                raise DeniedError("person_roles", 409)
            exam_id = exam_of_project(session, access.project_id)
            if not has_passed(person, account, passed_accounts(session, exam_id)):
                raise DeniedError("person_exam", 409)
            if person_of(session, access.project_id, account) is not None:
                raise DeniedError("person_twice", 409)
            session.add(
                ProjectMember(project_id=access.project_id, account_id=account, person=person_id)
            )
            session.flush()
        access.site.record(session, by, "project_assigned", **facts)
