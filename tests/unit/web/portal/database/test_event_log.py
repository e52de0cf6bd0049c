"""Every action is in one signed chain; changed, moved or missing events are reported."""

from threading import Thread

import pytest
from sqlalchemy import delete, select

from nodulebench.web.portal.database.event_log import check_log, latest_events
from nodulebench.web.portal.database.models import StoredEvent
from nodulebench.web.portal.site import Site


def act(site: Site, times: int) -> None:
    for number in range(times):
        with site.acting("ada", "announced", number=number):
            pass


def problems(site: Site) -> list[str]:
    with site.database.reading() as session:
        return [str(problem) for problem in check_log(session, site.key).problems]


def test_events_of_several_writers_form_one_chain(any_site: Site) -> None:
    threads = [Thread(target=act, args=(any_site, 8)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with any_site.database.reading() as session:
        check = check_log(session, any_site.key)
    assert check.problems == []
    assert [event.number for event in check.events] == [*range(1, 25)]


@pytest.mark.parametrize(
    ("old", "new"), [(b'"ada"', b'"lin"'), (b'"number": 2', b'"number": 3'), (b"{", b"[")]
)
def test_a_changed_event_is_reported(site: Site, old: bytes, new: bytes) -> None:
    act(site, 3)
    with site.database.writing() as session:
        event = session.get_one(StoredEvent, 2)
        assert old in event.content
        event.content = event.content.replace(old, new, 1)
    assert any(problem.startswith("event 2: was changed") for problem in problems(site))


def test_a_truncated_log_is_reported(site: Site) -> None:
    act(site, 3)
    with site.database.writing() as session:
        session.execute(delete(StoredEvent).where(StoredEvent.number == 3))
    assert any("it was cut off" in problem for problem in problems(site))


def test_a_missing_event_is_reported(site: Site) -> None:
    act(site, 3)
    with site.database.writing() as session:
        session.execute(delete(StoredEvent).where(StoredEvent.number == 2))
    assert any("follows a gap" in problem for problem in problems(site))


def test_an_event_of_another_key_is_reported(site: Site, tmp_path) -> None:
    from builders.portal import open_site

    act(site, 1)
    other = open_site(tmp_path / "other")
    act(other, 1)
    with other.database.reading() as session:
        forged = session.scalars(select(StoredEvent.content)).one()
    with site.database.writing() as session:
        session.get_one(StoredEvent, 1).content = forged
    assert problems(site)
    other.database.close()


def test_the_last_events_come_first_page_by_page(site: Site) -> None:
    act(site, 5)
    with site.database.reading() as session:
        assert [event.number for event in latest_events(session, None, 2)] == [5, 4]
        assert [event.number for event in latest_events(session, 4, 9)] == [3, 2, 1]
