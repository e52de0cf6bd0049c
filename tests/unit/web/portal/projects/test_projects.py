"""Projects on a site: every step of the workflow is one transaction of an account."""

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import func, select

from builders.portal import ADDRESS, CHEAP, Browser, make_person, signed_in
from builders.site_projects import (
    SCANS,
    at_work,
    make_ball_project,
    opens_batch,
    roster_text,
    with_accounts,
)
from builders.working import NEXT_TO, PLACE, ball_project, handle_of
from nodulebench.annotation.actions import ReleaseBatch
from nodulebench.annotation.project import audit_project, open_project
from nodulebench.annotation.release import export_released
from nodulebench.core.errors import InputError
from nodulebench.io.formats import read_reference
from nodulebench.web.portal.accounts.service import DeniedError, change_roles
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.backup import back_up, restore
from nodulebench.web.portal.database.event_log import check_log
from nodulebench.web.portal.database.models import ProjectEdit, ProjectEvent
from nodulebench.web.portal.projects.members import assign
from nodulebench.web.portal.projects.service import (
    ProjectOptions,
    make_project,
    open_project_access,
    project_problems,
    take_project,
    write_project,
)
from nodulebench.web.portal.site import Settings, Site

TEAM = ("r1", "r2", "r3", "lead2", "judge1")


@pytest.fixture
def project(site: Site, organiser: User) -> str:
    made = make_ball_project(site, organiser, "a")
    assign(
        open_project_access(site, made, organiser.account),
        organiser.account,
        "office",
        organiser.account,
    )
    return made


def works_through(site: Site, project_id: str) -> None:
    """Three readers who disagree, types, a review with a corrected outline, a ruling, release."""
    for name in ("r1", "r2", "r3"):
        person = at_work(site, project_id, name)
        person.draw(0, "f1", PLACE, 5, type="solid")
        if name == "r2":
            person.draw(0, "f2", NEXT_TO, 3)
        person.submit(0)
    typist = at_work(site, project_id, "r2")
    for name in ("own-1", "own-2"):
        typist.answer(0, name, type="solid")
    typist.submit(0)
    leader = at_work(site, project_id, "lead2")
    first = leader.ask("/scans/0/reading")["findings"][0]["finding"]
    smaller = [
        {**slice_, "outline": [[x * 0.9 + PLACE[0] * 0.1, y] for x, y in slice_["outline"]]}
        for slice_ in first["slices"]
    ]
    leader.answer(0, "candidate-1", answer="yes", slices=smaller)
    leader.answer(0, "candidate-2", answer="no", comment="a vessel")
    leader.submit(0)
    arbitrator = at_work(site, project_id, "judge1")
    arbitrator.answer(0, "candidate-2", answer="no", comment="agreed", discussed_with=["judge2"])
    arbitrator.submit(0)
    arbitrator.post("/work/b1/release")


def problems(site: Site, project_id: str) -> list[str]:
    access = open_project_access(site, project_id, "")
    with site.database.reading() as session:
        return [
            *(str(problem) for problem in project_problems(access, session)),
            *(str(problem) for problem in check_log(session, site.key).problems),
        ]


@pytest.mark.slow
@pytest.mark.parametrize("any_database", ["postgresql"], indirect=True)
def test_from_a_form_to_a_reference(any_site: Site, tmp_path: Path) -> None:
    """On the other database the browser journey takes the same steps."""
    site = any_site
    organiser = make_person(site, "olga", "organiser")
    olga = signed_in(site, "olga")
    assert "This site has no folder of scans" in olga.get("/projects/new").text
    made = make_ball_project(site, organiser, "a")
    files = {"roster": ("people.toml", roster_text().encode())}
    given = {"title": "By form", "images": SCANS, "workflow": "nifdc-2022"}
    project = olga.post("/projects/new", "/projects/new", files=files, **given).headers["location"]
    project_id = project.rpartition("/")[2]
    assert project_id != made
    with_accounts(site, project_id, organiser, *TEAM)
    assert opens_batch(olga, project_id, reviewer="lead2").status_code == 303
    works_through(site, project_id)
    assert problems(site, project_id) == []
    assert "The project log is intact" not in olga.get(project).text
    page = olga.get(f"{project}?check=yes").text
    assert "released" in page
    assert "The project log is intact" in page
    taken = zipfile.ZipFile(io.BytesIO(olga.get(f"{project}/reference.zip").content))
    taken.extractall(tmp_path / "taken")
    (nodule,) = read_reference(tmp_path / "taken/reference").nodules.iter_rows(named=True)
    assert (nodule["corrected_by"], nodule["agreement"], nodule["type"]) == ("lead2", 3, "solid")
    whole = zipfile.ZipFile(io.BytesIO(olga.get(f"{project}/project.zip").content))
    whole.extractall(tmp_path / "taken")
    handle = open_project(tmp_path / "taken/project")
    assert audit_project(handle).problems == ()
    again = export_released(handle, tmp_path / "bundle")
    assert again.nodules.height == 1
    assert handle.batch("b1").rulings["a", "candidate-2"].comment == "agreed"


@pytest.mark.slow
def test_a_reviewer_is_drawn_when_all_have_read(
    site: Site, organiser: User, project: str, as_organiser: Browser
) -> None:
    with_accounts(site, project, organiser, "r1", "r2", "r3")
    opens_batch(as_organiser, project)
    draw = f"/projects/{project}/batches/b1/draw"
    assert "Draw the reviewer" not in as_organiser.get(f"/projects/{project}").text
    early = as_organiser.post(draw, f"/projects/{project}")
    assert early.status_code == 422
    assert "0 / 3</td>" in as_organiser.get("/dashboard").text
    for name in ("r1", "r2", "r3"):
        at_work(site, project, name).submit(0)
    assert "Draw the reviewer" in as_organiser.get(f"/projects/{project}").text
    page = (
        as_organiser.get("/dashboard").text.partition("Released batches")[2].partition("</tr>")[2]
    )
    cells = re.findall(r"<td[^>]*>(?:<progress[^>]*></progress>)? *([^<]*)</td>", page)[:4]
    assert cells == ["3 / 3", "0", "0 / 1", "0"]
    assert as_organiser.post(draw, f"/projects/{project}").status_code == 303
    with open_project_access(site, project, "").handle() as handle:
        assert handle.batch("b1").order.reviewer_id == "lead2"
    assert str(site.settings.storage) not in early.text


@pytest.mark.slow
def test_a_project_is_imported_and_exported(site: Site, organiser: User, tmp_path: Path) -> None:
    folder = ball_project(tmp_path, "a")
    site.settings.scan_sets.mkdir(parents=True)
    (folder / "scans").rename(site.settings.scan_sets / "mine")
    made = take_project(site, organiser.account, handle_of(folder), title="Mine", images="mine")
    with_accounts(site, made, organiser, *TEAM)
    works_through(site, made)
    assert problems(site, made) == []
    handle = write_project(open_project_access(site, made, ""), tmp_path / "back")
    assert audit_project(handle).problems == ()
    assert next(event.step for event in handle.log.read()) == "open"
    assert handle.batch("b1").is_released
    with pytest.raises(InputError, match="exists already"):
        write_project(open_project_access(site, made, ""), tmp_path / "back")


def test_a_step_is_whole_or_nothing(
    site: Site,
    organiser: User,
    project: str,
    as_organiser: Browser,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Event, frozen draft and entry of the site log: all of them, or none."""
    with_accounts(site, project, organiser, "r1")
    opens_batch(as_organiser, project)
    person = at_work(site, project, "r1")
    person.draw(0, "f1", PLACE)

    def counts() -> tuple[int, int, int]:
        with site.database.reading() as session:
            edits = session.scalar(select(func.count()).select_from(ProjectEdit))
            events = session.scalar(select(func.count()).select_from(ProjectEvent))
            site_events = check_log(session, site.key).events
        return edits or 0, events or 0, sum(event.action == "project_step" for event in site_events)

    before = counts()

    def broken(*_: object, **__: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(type(site), "record", broken)
        with pytest.raises(OSError, match="the disk is full"):
            person.client.post(f"{person.where}/scans/0/submit", headers=OWN)
    assert counts() == before
    assert person.ask("/scans")[0]["mode"] == "read"
    person.submit(0)
    assert counts() == (before[0] + 1, before[1] + 1, before[2] + 1)


OWN = {"X-Requested-With": "nodulebench"}


@pytest.mark.slow
def test_two_processes_see_each_others_drafts_and_none_is_lost_or_doubled(any_site: Site) -> None:
    """Two sites on one database act as two web processes: every edit appears once, in order."""
    organiser = make_person(any_site, "olga", "organiser")
    made = make_ball_project(any_site, organiser, "a")
    access = open_project_access(any_site, made, organiser.account)
    assign(access, organiser.account, "office", organiser.account)
    with_accounts(any_site, made, organiser, "r1")
    assert opens_batch(signed_in(any_site, "olga"), made).status_code == 303
    other = Site.open(any_site.settings)
    here, there = at_work(any_site, made, "r1"), at_work(other, made, "r1")

    def edits(person, first: str) -> None:
        for number in range(1, 8):
            person.draw(0, f"{first}{number}", PLACE)

    here.draw(0, "h0", PLACE)
    there.draw(0, "t0", PLACE)

    threads = [Thread(target=edits, args=arguments) for arguments in ((here, "h"), (there, "t"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for person in (here, there):
        ids = [finding["id"] for finding in person.ask("/scans/0/reading")["findings"]]
        assert sorted(ids) == sorted(f"{way}{number}" for way in "ht" for number in range(8))
        assert [finding_id[1] for finding_id in ids if finding_id[0] == "h"] == [
            str(at) for at in range(8)
        ]
    stale = {"client": "x", "number": 1, "finding_id": "h0", "based_on": 0, "finding": None}
    answer = there.client.post(f"{there.where}/scans/0/edits", json=stale, headers=OWN)
    assert (answer.status_code, answer.json()["detail"]["code"]) == (409, "changed_elsewhere")
    other.database.close()


@pytest.mark.slow
def test_a_restored_project_continues_on_the_other_database(
    any_site: Site, other_database: str, tmp_path: Path
) -> None:
    organiser = make_person(any_site, "olga", "organiser")
    made = make_ball_project(any_site, organiser, "a")
    access = open_project_access(any_site, made, organiser.account)
    assign(access, organiser.account, "office", organiser.account)
    with_accounts(any_site, made, organiser, "r1")
    opens_batch(signed_in(any_site, "olga"), made)
    at_work(any_site, made, "r1").draw(0, "f1", PLACE)
    back_up(any_site, tmp_path / "site.zip")
    settings = Settings(
        tmp_path / "new",
        other_database,
        ADDRESS,
        scans=any_site.settings.scan_sets,
        passwords=CHEAP,
    )
    restore(tmp_path / "site.zip", settings)
    restored = Site.open(settings)
    person = at_work(restored, made, "r1")
    person.draw(0, "f2", NEXT_TO)
    findings = person.ask("/scans/0/reading")["findings"]
    assert [finding["id"] for finding in findings] == ["f1", "f2"]
    assert problems(restored, made) == []
    restored.database.close()


def test_changes_in_the_tables_are_reported(
    site: Site, organiser: User, project: str, as_organiser: Browser
) -> None:
    with_accounts(site, project, organiser, "r1")
    opens_batch(as_organiser, project)
    at_work(site, project, "r1").submit(0)
    assert problems(site, project) == []
    with site.database.writing() as session:
        event = session.get_one(ProjectEvent, (project, 2))
        event.content = event.content.replace(b'"r1"', b'"r2"')
    messages = problems(site, project)
    assert any("was changed" in message for message in messages)
    assert any("differs from the log of the site" in message for message in messages)
    for query in ("", "?check=yes"):
        assert "is not intact" in as_organiser.get(f"/projects/{project}{query}").text


def test_which_account_may_be_which_person(site: Site, organiser: User, project: str) -> None:
    access = open_project_access(site, project, organiser.account)

    def refused(person: str, account: str) -> str:
        with pytest.raises(DeniedError) as error:
            assign(access, organiser.account, person, account)
        return error.value.code

    reader = make_person(site, "rea", "reader")
    both = make_person(site, "both", "reader", "organiser")
    assert refused("lead1", reader.account) == "person_roles"
    assert refused("r1", both.account) == "person_roles"
    assert refused("r1", "nobody") == "not_found"
    assign(access, organiser.account, "r1", reader.account)
    assert refused("r2", reader.account) == "person_twice"
    assign(access, organiser.account, "r1", "")
    assign(access, organiser.account, "r2", reader.account)


def test_a_person_who_has_read_cannot_be_replaced(
    site: Site, organiser: User, project: str, as_organiser: Browser
) -> None:
    people = with_accounts(site, project, organiser, "r1")
    opens_batch(as_organiser, project)
    at_work(site, project, "r1").submit(0)
    other = make_person(site, "other", "reader")
    access = open_project_access(site, project, organiser.account)
    with pytest.raises(DeniedError, match="person_acted"):
        assign(access, organiser.account, "r1", other.account)
    assign(access, organiser.account, "r1", people["r1"].account)


def test_bad_rosters_and_folders_are_reported_on_the_page(
    site: Site, organiser: User, as_organiser: Browser
) -> None:
    make_ball_project(site, organiser, "a")
    given = {"title": "Wrong", "images": SCANS, "workflow": "nifdc-2022"}

    def error_of(roster: bytes, cases: bytes = b"", **more: str) -> str:
        files = {"roster": ("people.toml", roster), "cases": ("cases.csv", cases)}
        answer = as_organiser.post(
            "/projects/new", "/projects/new", files=files, **{**given, **more}
        )
        assert answer.status_code in (404, 422)
        return answer.text

    assert "is not valid TOML" in error_of(b"[[people")
    assert "is resident with 0 years" in error_of(roster_text().replace("= 6", "= 0").encode())
    assert "holds no scan of &#39;z&#39;" in error_of(roster_text().encode(), b"case_id\nz\n")
    assert "asks for an exam" in error_of(f"rules.requires_exam = true\n{roster_text()}".encode())
    error_of(roster_text().encode(), images="../..")
    assert str(site.settings.storage) not in error_of(b"x = ")


def test_readers_must_have_passed_a_required_exam(
    site: Site, organiser: User, as_organiser: Browser
) -> None:
    make_ball_project(site, organiser, "a")
    roster = f"rules.requires_exam = true\n{roster_text()}".encode()
    names = [*(f"r{number}" for number in range(1, 7)), "lead1", "lead2", "judge1", "judge2"]

    def sheets(*failed: str) -> bytes:
        every = [{"candidate": name, "has_passed": name not in failed} for name in names]
        return json.dumps(every).encode()

    def made(exam: bytes) -> str:
        given = {"title": "Examined", "images": SCANS, "roster": roster, "exam": exam}
        return make_project(site, organiser.account, ProjectOptions(**given))

    for person in ("r2", "lead1", "judge2"):
        with pytest.raises(InputError, match=f"{person}.*has not passed the exam"):
            made(sheets(person))
    page = as_organiser.get(f"/projects/{made(sheets())}").text
    assert page.count("<td>passed</td>") == len(names)


def test_a_roster_with_keys_is_refused(site: Site, organiser: User, tmp_path: Path) -> None:
    from nodulebench.security.keys import new_person_key

    make_ball_project(site, organiser, "a")
    text = roster_text()
    for name in (*(f"r{number}" for number in range(1, 7)), "lead1", "lead2", "judge1", "judge2"):
        new_person_key(tmp_path / name)
    new_person_key(tmp_path / "office")
    for file in tmp_path.glob("*.pub"):
        key = " ".join(file.read_text().split()[:2])
        text = text.replace(
            f'person_id = "{file.stem}"\n', f'person_id = "{file.stem}"\nkey = "{key}"\n'
        )
    with pytest.raises(InputError, match="cannot sign on a site"):
        make_project(site, "", ProjectOptions(title="Keys", images=SCANS, roster=text.encode()))


def test_a_removed_role_closes_the_session(
    site: Site, organiser: User, project: str, as_organiser: Browser
) -> None:
    people = with_accounts(site, project, organiser, "r1")
    opens_batch(as_organiser, project)
    assert at_work(site, project, "r1").ask("/scans")
    change_roles(site, people["r1"].account, ("arbitrator",), organiser.account)
    person = at_work(site, project, "r1")
    assert person.client.get(f"{person.where}/scans").status_code == 403


def test_a_stranger_takes_no_step(site: Site, organiser: User, project: str) -> None:
    with open_project_access(site, project, organiser.account).handle(acts=True) as handle:
        with pytest.raises(InputError, match="is not open"):
            handle.act("judge1", ReleaseBatch(batch_id="b1"))
        assert replace(handle, passed=None).passed is None
