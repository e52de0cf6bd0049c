"""Exams on a site: taken once, scored at once, blind until then, required by projects."""

import io
import json
import re
import zipfile
from collections.abc import Callable

import pytest

from builders.attacked import answers_of
from builders.exams import PANEL, ball_key, empty_key
from builders.portal import Browser, make_person, signed_in
from builders.reading import BALL_MM, write_scans
from builders.site_projects import SCANS, roster_text
from builders.working import Person
from nodulebench.annotation.exam import who_passed
from nodulebench.core.errors import InputError
from nodulebench.web.portal.accounts.service import DeniedError
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.backup import back_up
from nodulebench.web.portal.database.event_log import check_log, latest_events
from nodulebench.web.portal.exams.service import end_exam, make_exam, results_of
from nodulebench.web.portal.exams.sessions import SiteExamSession
from nodulebench.web.portal.projects.members import assign
from nodulebench.web.portal.projects.service import (
    ProjectOptions,
    make_project,
    open_project_access,
    take_project,
)
from nodulebench.web.portal.site import Site

MakeExam = Callable[..., str]
PLACE = {"position_mm": BALL_MM.tolist()}


@pytest.fixture
def made(any_site: Site) -> MakeExam:
    return maker(any_site)


def maker(site: Site) -> MakeExam:
    """An organiser with two scans, of which the first contains the ball."""
    write_scans(site.settings.scan_sets / SCANS, "a", "b")
    olga = make_person(site, "olga", "organiser")

    def make(key: str = "", **more: str) -> str:
        content = io.BytesIO((key or ball_key("b")).encode())
        given = {"title": "Spring", "images": SCANS, **more}
        return make_exam(site, olga.account, **given, key=content)

    return make


def sits(site: Site, exam: str, login: str) -> Person:
    """A signed-in candidate in the session of an exam."""
    return Person(signed_in(site, login).client, f"/exams/{exam}/session")


def finds_all(person: Person) -> None:
    """Outline the ball as proposed, and submit everything."""
    slices = person.post("/scans/0/proposal", PLACE)["slices"]
    person.save(0, "f1", {**PLACE, "slices": slices, "type": "solid"})
    person.submit(0)
    assert person.submit(1) == {"is_submitted": True, "is_over": True}


def finds_nothing(person: Person) -> None:
    person.submit(0)
    person.submit(1)


@pytest.mark.slow
def test_from_the_exam_form_to_admitted_readers(any_site: Site) -> None:
    """One reader passes the exam and one fails; a project admits only the first."""
    site = any_site
    write_scans(site.settings.scan_sets / SCANS, "a", "b")
    olga = make_person(site, "olga", "organiser")
    rea, lena = make_person(site, "rea", "reader"), make_person(site, "lena", "team_leader")
    office = signed_in(site, "olga")
    given = {"title": "Spring", "images": SCANS, "pass_mark": "0.8"}
    files = {"key": ("key.csv", ball_key("b").encode())}
    where = office.post("/exams/new", "/exams/new", files=files, **given).headers["location"]
    exam = where.rpartition("/")[2]
    assert "No reader has submitted" in office.get(where).text
    reader = signed_in(site, "rea")
    assert "not started" in reader.get("/projects").text
    assert "Start exam" in reader.get(where).text
    finds_all(sits(site, exam, "rea"))
    finds_nothing(sits(site, exam, "lena"))
    sheet = reader.get(f"{where}/session/").text
    assert "Passed" in sheet
    assert "1 of 1 nodules detected, 0 false positives" in sheet
    failed = signed_in(site, "lena")
    assert "Not passed" in failed.get(f"{where}/session/").text
    chosen = {"rule": "center_hit", "algorithm": "lena"}
    evaluation = failed.client.get(f"{where}/session/evaluation/errors", params=chosen).json()
    assert [error["id"] for error in evaluation["errors"]] == [f"nodule:{PANEL}"]
    assert "not passed" in failed.get(where).text
    page = office.get(where).text
    assert "Rea (rea)" in page
    assert "1 / 1" in page
    assert "0 / 1" in page
    assert PANEL not in page
    sheets = office.get(f"{where}/exam.json").json()
    assert {sheet["candidate"]: sheet["has_passed"] for sheet in sheets} == {
        "rea": True,
        "lena": False,
    }
    assert PANEL not in json.dumps(sheets)
    asked = {"roster": f"rules.requires_exam = true\n{roster_text()}".encode(), "exam_id": exam}
    project = make_project(
        site, olga.account, ProjectOptions(title="Examined", images=SCANS, **asked)
    )
    access = open_project_access(site, project, olga.account)
    assign(access, olga.account, "r1", rea.account)
    assign(access, olga.account, "office", olga.account)
    with pytest.raises(DeniedError, match="person_exam"):
        assign(access, olga.account, "lead1", lena.account)
    page = office.get(f"/projects/{project}").text
    assert page.count("<td>passed</td>") == 1
    assert "Lena (lena)" not in page
    taken = office.get(f"/projects/{project}/project.zip").content
    with zipfile.ZipFile(io.BytesIO(taken)) as files_of:
        files_of.extract("project/exam.json", site.settings.storage / "taken")
    assert who_passed(site.settings.storage / "taken/project/exam.json") == {"r1"}
    with site.database.reading() as session:
        assert check_log(session, site.key).problems == []
        events = latest_events(session, None, 50)
    assert [event.facts["passed"] for event in events if event.action == "exam_sat"] == [
        False,
        True,
    ]


PAGES = (
    "/projects",
    "/exams/{id}",
    "/exams/{id}/exam.json",
    "/exams/new",
    "/log",
    "/dashboard",
    "/",
)


@pytest.mark.slow
def test_answers_to_a_candidate_do_not_depend_on_the_key(site: Site) -> None:
    """Every route and page, until the last scan is submitted; then answers differ.

    Another account has taken both exams before, so that there are results to leak.
    """
    make = maker(site)
    exams = make(), make(empty_key("a", "b"))
    for login in ("early", "anna"):
        make_person(site, login, "reader")
    for exam in exams:
        finds_all(sits(site, exam, "early"))
    spies = [sits(site, exam, "anna") for exam in exams]
    for spy in spies:
        spy._tab = "tab"

    def answers_to(exam: str, spy: Person) -> dict[str, str]:
        steps = [f"/scans/{number}/submit" for number in (0, 1)]
        answers = dict(answers_of(spy.client, but=steps, where=spy.where))
        for page in PAGES:
            response = spy.client.get(page.format(id=exam))
            assert response.headers["cache-control"] == "no-store"
            answers[page] = f"{response.status_code} {response.text}"
        match = re.search(r'data-session="(\w+)"', answers["GET / 0"])
        assert match
        hidden = re.compile(rf"{exam}|{match[1]}|value=\"[\w-]{{40,}}\"|\d{{4}}-\d\d-\d\d[^<\"]*")
        return {name: hidden.sub("X", text) for name, text in answers.items()}

    def different() -> list[str]:
        first, second = (answers_to(exam, spy) for exam, spy in zip(exams, spies, strict=True))
        assert len(first) > 60
        own = first.pop("/projects") + second.pop("/projects")  # lists both exams
        assert PANEL not in own
        return [name for name in first if first[name] != second[name]]

    assert different() == []
    for spy in spies:
        spy.draw(0, "mine", BALL_MM.tolist(), 4)
        assert spy.submit(0) == {"is_submitted": True, "is_over": False}
    assert different() == []
    for spy in spies:
        assert spy.submit(1)["is_over"]
    assert "GET /evaluation/errors 0" in different()


@pytest.mark.slow
def test_an_exam_is_closed_to_its_author_and_after_its_end(site: Site) -> None:
    make = maker(site)
    exam = make()
    make_person(site, "both", "organiser", "reader")
    make_person(site, "ada", "participant")
    for login, status in (("olga", 403), ("both", 403), ("ada", 403)):
        browser = signed_in(site, login)
        answers = dict(answers_of(browser.client, where=f"/exams/{exam}/session"))
        assert {text.partition(" ")[0] for text in answers.values()} == {str(status)}
    make_person(site, "rea", "reader")
    make_person(site, "late", "reader")
    assert sits(site, "0" * 16, "rea").client.get(f"/exams/{'0' * 16}/session/").status_code == 404
    finds_all(sits(site, exam, "rea"))
    person = sits(site, exam, "late")
    person.draw(0, "mine", BALL_MM.tolist(), 4)
    with site.database.reading() as session:
        maker_of = session.scalars(_accounts()).one()
    end_exam(site, maker_of, exam)
    answer = person.client.get(f"{person.where}/")
    assert (answer.status_code, answer.json()["error"]) == (409, "exam_ended")
    assert "ended" in signed_in(site, "late").get(f"/exams/{exam}").text
    assert "Passed" in sits(site, exam, "rea").client.get(f"/exams/{exam}/session/").text


def _accounts():
    from sqlalchemy import select

    from nodulebench.web.portal.database.models import Account

    return select(Account.id).where(Account.login == "olga")


def test_an_exam_is_taken_once(site: Site) -> None:
    exam = maker(site)()
    make_person(site, "rea", "reader")
    finds_nothing(sits(site, exam, "rea"))
    again = sits(site, exam, "rea")
    edit = {"client": "x", "number": 1, "finding_id": "f1", "finding": PLACE}
    assert again.post("/scans/0/edits", edit, 409)["detail"]["code"] == "submitted"
    assert again.post("/scans/0/submit", code=409)["detail"]["code"] == "submitted"


@pytest.mark.slow
def test_a_result_lost_by_a_kill_is_written_at_the_next_request(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    exam = maker(site)()
    make_person(site, "rea", "reader")
    person = sits(site, exam, "rea")
    person.submit(0)

    def killed(*_: object) -> None:
        raise OSError("killed")

    def results() -> list[bool]:
        with site.database.reading() as session:
            return [result.has_passed for result in results_of(session, exam)]

    with monkeypatch.context() as patched:
        patched.setattr(SiteExamSession, "save_sheet", killed)
        with pytest.raises(OSError, match="killed"):
            person.client.post(f"{person.where}/scans/1/submit", headers=OWN)
    assert results() == []
    for _ in range(2):
        assert "Not passed" in sits(site, exam, "rea").client.get(f"{person.where}/").text
    assert results() == [False]


OWN = {"X-Requested-With": "nodulebench"}


def test_wrong_keys_are_refused_without_leftovers(site: Site) -> None:
    make = maker(site)
    for key, message in (
        (ball_key("c"), "holds no scan of 'c'"),
        (empty_key("b") + "a,k,11,19.4,500,500,8,8,\n", "slice 11 is outside of the scan"),
        ("case_id\n", "key.csv"),
        ("\x00", "key.csv"),
    ):
        with pytest.raises(InputError, match=message):
            make(key)
    for wrong in ({"title": ""}, {"images": "../.."}, {"pass_mark": "1"}, {"pass_mark": "much"}):
        with pytest.raises(DeniedError):
            make(**wrong)
    assert [*(site.settings.storage / "exams").glob("*")] == []
    office: Browser = signed_in(site, "olga")
    files = {"key": ("key.csv", ball_key("c").encode())}
    answer = office.post("/exams/new", "/exams/new", files=files, title="x", images=SCANS)
    assert answer.status_code == 422
    assert "holds no scan of &#39;c&#39;" in answer.text
    assert str(site.settings.storage) not in answer.text


def test_backups_hold_keys_and_a_project_needs_its_exam(
    site: Site, tmp_path, organiser: User
) -> None:
    write_scans(site.settings.scan_sets / SCANS, "a", "b")
    content = io.BytesIO(ball_key("b").encode())
    exam = make_exam(site, organiser.account, title="Spring", images=SCANS, key=content)
    back_up(site, tmp_path / "site.zip")
    with zipfile.ZipFile(tmp_path / "site.zip") as packed:
        assert f"files/exams/{exam}/key.csv" in packed.namelist()
    asked = {"roster": f"rules.requires_exam = true\n{roster_text()}".encode(), "exam_id": exam}
    project = make_project(
        site, organiser.account, ProjectOptions(title="x", images=SCANS, **asked)
    )
    lab = open_project_access(site, project, "").base
    with pytest.raises(InputError, match="does not say who passed"):
        take_project(site, organiser.account, lab, title="x", images=SCANS)
