"""An unreachable database is reported, and possible submissions are not deleted."""

import io

import pytest
from sqlalchemy.exc import OperationalError

from builders.portal import GOOD, Browser, signed_in
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.database.database import Database
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.service import store_upload

AWAY = OperationalError("SELECT secret", {}, Exception("server closed the connection"))


def away(*_: object) -> None:
    raise AWAY


def test_an_unreachable_database_is_reported_as_such(
    site: Site, ada: User, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_ada = signed_in(site, ada.login)
    monkeypatch.setattr(Database, "reading", away)
    for path in ("/", f"/benchmarks/{benchmark}", "/account", "/health"):
        answer = as_ada.get(path)
        assert answer.status_code == 503
        assert "cannot reach its database" in answer.text
        assert "secret" not in answer.text
    public = Browser(site)
    assert public.get("/").status_code == 503
    assert public.get("/api/v1/benchmarks").json()["error"] == "away"


def test_an_upload_stays_if_it_may_have_become_an_entry(site: Site) -> None:
    with pytest.raises(OperationalError), store_upload(site, "x.csv", io.BytesIO(b"x")) as sent:
        raise AWAY  # raised by the commit, which may have succeeded
    assert sent.path.exists()
    with (
        pytest.raises(ValueError, match="ours"),
        store_upload(site, "x.csv", io.BytesIO(b"x")) as sent,
    ):
        raise ValueError("ours")
    assert not sent.path.exists()


def test_a_submission_during_an_outage_is_answered_with_advice(
    as_ada: Browser, benchmark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nodulebench.web.portal.submissions.routes.submit", lambda *_, **__: away())
    answer = as_ada.send(benchmark, "submit", GOOD)
    assert answer.status_code == 503
    assert "Check your entries before you submit again" in answer.text
