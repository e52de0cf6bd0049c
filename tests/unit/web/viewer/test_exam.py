"""An exam in the viewer: blind until the last scan is submitted, then the sheet."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from builders.attacked import OWN, TRIES, answers_of, routes_of
from builders.exams import PANEL, ball_exam, empty_key
from builders.reading import BALL_MM, write_scans
from nodulebench.core.errors import InputError
from nodulebench.web.viewer.app import LocalAuth, workbench_app
from nodulebench.web.viewer.exam import Exam, exam_of, open_exam_session
from nodulebench.web.viewer.session import ReadingSession

AUTH = LocalAuth(8040)
CLICK = {"position_mm": BALL_MM.tolist()}


@pytest.fixture
def exam(tmp_path: Path) -> Exam:
    return ball_exam(tmp_path, "b")


@pytest.fixture
def session(tmp_path: Path, exam: Exam) -> Iterator[ReadingSession]:
    folder = write_scans(tmp_path / "scans", "other", "a", "b")
    with open_exam_session(folder, "anna", exam) as opened:
        yield opened


@pytest.fixture
def client(session: ReadingSession) -> TestClient:
    made = TestClient(workbench_app(session, AUTH), base_url="http://127.0.0.1:8040")
    made.get(AUTH.address)
    return made


def responses(client: TestClient, session: ReadingSession) -> dict[str, str]:
    """The responses of all routes to a candidate, without submitting."""
    steps = [f"/scans/{number}/submit" for number in (-1, 0, 1)]
    texts = answers_of(client, but=steps)
    return {place: text.replace(session.name, "SESSION") for place, text in texts}


@pytest.mark.slow
def test_the_key_is_hidden_until_the_last_scan_is_submitted(
    client: TestClient, session: ReadingSession, tmp_path: Path
) -> None:
    """Every route returns what an exam without nodules returns."""
    (tmp_path / "empty.csv").write_text(empty_key("a", "b"))
    other = exam_of(tmp_path / "empty.csv")
    with open_exam_session(tmp_path / "scans", "anna", other, tmp_path / "other") as easy:
        app = workbench_app(easy, AUTH)
        assert sorted(routes_of(app)) == sorted(TRIES)
        twin = TestClient(app, base_url="http://127.0.0.1:8040")
        twin.get(AUTH.address)
        before = responses(client, session)
        assert before == responses(twin, easy)
        assert len(json.loads(client.get("/scans").text)) == 2
        for reader in (client, twin):
            answer = reader.post("/scans/0/submit", headers=OWN).json()
            assert answer == {"is_submitted": True, "is_over": False}
        after = responses(client, session)
        assert after == responses(twin, easy)
        assert PANEL not in "".join((*before.values(), *after.values()))
        for reader in (client, twin):
            reader.post("/scans/1/submit", headers=OWN)
        assert PANEL in "".join(responses(client, session).values())


def test_an_empty_answer_fails_and_shows_the_misses(
    client: TestClient, session: ReadingSession
) -> None:
    client.post("/scans/0/submit", headers=OWN)
    assert client.post("/scans/1/submit", headers=OWN).json()["is_over"]
    page = client.get("/").text
    assert "Not passed" in page
    assert "evaluation.js" in page
    chosen = {"rule": "center_hit", "algorithm": "anna"}
    (missed,) = client.get("/evaluation/errors", params=chosen).json()["errors"]
    assert (missed["label"], missed["id"]) == ("missed", f"nodule:{PANEL}")
    assert (session.folder / "exam" / "exam.json").is_file()


def test_a_good_outline_passes(client: TestClient) -> None:
    slices = client.post("/scans/0/proposal", json=CLICK, headers=OWN).json()["slices"]
    finding = {**CLICK, "slices": slices, "type": "solid"}
    edit = {"client": "tab", "number": 1, "finding_id": "f1", "finding": finding}
    assert client.post("/scans/0/edits", json=edit, headers=OWN).status_code == 200
    client.post("/scans/0/submit", headers=OWN)
    client.post("/scans/1/submit", headers=OWN)
    page = client.get("/").text
    assert "Passed" in page
    assert "1 of 1 nodules detected, 0 false positives" in page


def test_a_sequence_without_a_scan_and_a_key_without_slices_are_refused(
    tmp_path: Path, exam: Exam
) -> None:
    folder = write_scans(tmp_path / "few", "a")
    with (
        pytest.raises(InputError, match="holds no scan of 'b'"),
        open_exam_session(folder, "anna", exam),
    ):
        pass
    luna16 = tmp_path / "luna16"
    luna16.mkdir()
    (luna16 / "seriesuids.csv").write_text("a\n")
    (luna16 / "annotations.csv").write_text(
        "seriesuid,coordX,coordY,coordZ,diameter_mm\na,1,2,3,4\n"
    )
    with pytest.raises(InputError, match="has no slices"):
        exam_of(luna16)
