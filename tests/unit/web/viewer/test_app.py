"""The routes of the viewer: access, responses, and what is stored."""

import re
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from builders.attacked import HANGING
from builders.reading import ball, write_scans
from nodulebench.cli.read import command
from nodulebench.web.viewer import routes as outlines
from nodulebench.web.viewer.app import LocalAuth, serve, workbench_app
from nodulebench.web.viewer.findings import MOST_CORNERS, OutlinedSlice
from nodulebench.web.viewer.session import ReadingSession, open_session

AUTH = LocalAuth(8040)
HOME = "http://127.0.0.1:8040"
OWN = {"X-Requested-With": "nodulebench"}


@pytest.fixture
def session(tmp_path: Path) -> Iterator[ReadingSession]:
    with open_session(write_scans(tmp_path / "scans", "a", "b"), "anna") as opened:
        yield opened


@pytest.fixture
def stranger(session: ReadingSession) -> TestClient:
    return TestClient(workbench_app(session, AUTH), base_url=HOME)


@pytest.fixture
def reader(stranger: TestClient) -> TestClient:
    stranger.get(AUTH.address)
    return stranger


ROUTES = ("/", "/scans", "/scans/0", "/scans/0/slices/0/1", "/scans/0/reading")
SCRIPT = "/static/main.js"


@pytest.mark.parametrize("path", [*ROUTES, SCRIPT])
def test_pages_need_the_secret(stranger: TestClient, path: str) -> None:
    assert stranger.get(path).status_code == 403
    assert stranger.get(f"{path}?token=wrong").status_code == 403


@pytest.mark.parametrize("path", [*ROUTES, SCRIPT])
def test_the_secret_opens_every_page(reader: TestClient, path: str) -> None:
    answer = reader.get(path)
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_secret_moves_into_a_cookie(stranger: TestClient) -> None:
    answer = stranger.get(AUTH.address, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert "SameSite=strict" in answer.headers["set-cookie"]


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1:9999", "127.0.0.1.evil.example:8040"])
def test_another_name_of_this_machine_is_refused(reader: TestClient, host: str) -> None:
    assert reader.get("/scans", headers={"Host": host}).status_code == 421


def test_a_page_of_others_cannot_change_anything(reader: TestClient) -> None:
    assert reader.post("/scans/0/submit").status_code == 403
    elsewhere = {**OWN, "Origin": "http://evil.example"}
    assert reader.post("/scans/0/submit", headers=elsewhere).status_code == 403
    assert reader.post("/scans/0/submit", headers={**OWN, "Origin": HOME}).status_code == 200


def test_the_grid_and_the_voxels_are_those_of_the_scan(reader: TestClient) -> None:
    placed = reader.get("/scans/0").json()
    assert placed["size"] == [64, 60, 24]
    assert placed["spacing_mm"] == [0.8, 0.9, 2.0]
    assert placed["original_slices"] == list(range(24))
    sent = reader.get("/scans/0/slices/5/2").content
    assert np.array_equal(np.frombuffer(sent, "<i2").reshape(2, 60, 64), ball().hu[5:7])


@pytest.mark.parametrize("path", ["24/1", "-1/1", "0/0", "23/2", "0/65", "x/1"])
def test_missing_slices_are_not_found(reader: TestClient, path: str) -> None:
    assert reader.get(f"/scans/0/slices/{path}").status_code in (404, 422)
    assert reader.get("/scans/2").status_code == 404
    assert reader.get("/scans/-1").status_code == 404


def finding(**more: Any) -> dict[str, Any]:
    outline = [[10, -10], [14, -10], [14, -6], [10, -6]]
    drawn = [{"slice_index": 12, "outline": outline}]
    return {"position_mm": [12, -8, 20], "slices": drawn, **more}


def edit(number: int, based_on: int = 0, **more: Any) -> dict[str, Any]:
    body = {"client": "tab", "number": number, "finding_id": "f1", "based_on": based_on}
    return {**body, "finding": finding(), "seconds": 1.5, **more}


def test_an_edit_returns_version_and_sizes(reader: TestClient) -> None:
    answer = reader.post("/scans/0/edits", json=edit(1), headers=OWN)
    assert answer.status_code == 200
    assert answer.json()["version"] == 1
    assert answer.json()["measured"]["volume_mm3"] == pytest.approx(32)
    reading = reader.get("/scans/0/reading").json()
    assert [finding["id"] for finding in reading["findings"]] == ["f1"]
    assert reader.get("/scans").json()[0]["findings"] == 1
    assert reader.get("/scans/1/reading").json()["findings"] == []


def test_a_conflict_returns_the_current_state(reader: TestClient) -> None:
    reader.post("/scans/0/edits", json=edit(1), headers=OWN)
    answer = reader.post("/scans/0/edits", json=edit(1, client="other"), headers=OWN)
    assert answer.status_code == 409
    assert answer.json()["detail"]["code"] == "changed_elsewhere"
    assert answer.json()["detail"]["current"]["version"] == 1
    reader.post("/scans/0/submit", headers=OWN)
    answer = reader.post("/scans/0/edits", json=edit(2, 1), headers=OWN)
    assert answer.json()["detail"]["code"] == "submitted"


@pytest.mark.parametrize(
    "wrong",
    [
        {"finding": finding(slices=[{"slice_index": 24, "outline": [[0, 0], [1, 0], [1, 1]]}])},
        {"finding": finding(slices=[{"slice_index": 1, "outline": [[0, 0], [1, 0]]}])},
        {"finding": finding(slices=finding()["slices"] * 2)},
        {"finding": finding(malignancy=6)},
        {"finding": finding(type="round")},
        {"finding": finding(unknown=1)},
        {"finding": finding(position_mm=[0, 0, 1e9])},
        {"finding_id": "../x"},
        {"number": 0},
        {"seconds": -1},
    ],
)
def test_an_invalid_edit_is_refused_and_not_stored(
    reader: TestClient, wrong: dict[str, Any]
) -> None:
    assert reader.post("/scans/0/edits", json={**edit(1), **wrong}, headers=OWN).status_code == 422
    assert reader.get("/scans/0/reading").json()["findings"] == []


def test_a_scan_that_cannot_be_read_names_the_reason_and_is_read_again(
    reader: TestClient, session: ReadingSession
) -> None:
    voxels = session.scans[0].files[1]
    content = voxels.read_bytes()
    voxels.write_bytes(content[:100])
    answer = reader.get("/scans/0")
    assert answer.status_code == 422
    assert "a.zraw" in answer.json()["problem"]
    voxels.write_bytes(content)
    assert reader.get("/scans/0").status_code == 200


def test_the_page_is_in_both_languages(session: ReadingSession) -> None:
    for name, word in (("en", "Not calibrated for diagnosis"), ("zh", "不可用于诊断")):
        client = TestClient(workbench_app(session, AUTH, name), base_url=HOME)
        page = client.get(AUTH.address).text
        assert f'lang="{"en" if name == "en" else "zh"}' in page
        assert word in page


def test_a_click_returns_outlines(reader: TestClient) -> None:
    click = {"position_mm": [12, -8, 20], "level": 0}
    proposal = reader.post("/scans/0/proposal", json=click, headers=OWN).json()
    assert proposal["measured"]["diameter_mm"] == pytest.approx(12, rel=0.06)
    larger = reader.post("/scans/0/proposal", json={**click, "level": 3}, headers=OWN).json()
    assert larger["measured"]["volume_mm3"] > proposal["measured"]["volume_mm3"]
    assert reader.post("/scans/0/proposal", json={**click, "level": 9}).status_code == 403
    wrong = reader.post("/scans/0/proposal", json={**click, "level": 9}, headers=OWN)
    assert wrong.status_code == 422


def test_strokes_and_gaps_return_outlines(reader: TestClient) -> None:
    drawn = finding()["slices"][0]
    body = {"slice_index": 12, "stroke": drawn["outline"], "drawn": drawn, "adds": False}
    assert reader.post("/scans/0/joined", json=body, headers=OWN).json() == {"drawn": None}
    body["slice_index"] = 24
    assert reader.post("/scans/0/joined", json=body, headers=OWN).status_code == 422
    gaps = {"slices": [drawn, {**drawn, "slice_index": 15}]}
    filled = reader.post("/scans/0/filled", json=gaps, headers=OWN).json()["slices"]
    assert [outline["slice_index"] for outline in filled] == [12, 13, 14, 15]


def test_submitting_writes_the_findings(reader: TestClient, session: ReadingSession) -> None:
    reader.post("/scans/0/edits", json=edit(1), headers=OWN)
    assert reader.post("/scans/0/submit", headers=OWN).status_code == 200
    lines = (session.folder / "nodules.csv").read_text().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("a,f1,12,")


def test_an_outline_that_becomes_too_long_is_refused(
    reader: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long(*_: object, **__: object) -> OutlinedSlice:
        return OutlinedSlice(slice_index=1, outline=((0.0, 0.0),) * (MOST_CORNERS + 1))

    monkeypatch.setattr(outlines, "join_stroke", too_long)
    drawn = finding()["slices"][0]
    body = {"slice_index": 12, "stroke": drawn["outline"], "drawn": drawn}
    answer = reader.post("/scans/0/joined", json=body, headers=OWN)
    assert answer.status_code == 422
    assert "at most 2000 items" in answer.json()["problem"]


def test_the_hanging_is_saved_with_the_readings(
    reader: TestClient, session: ReadingSession
) -> None:
    assert reader.get("/hanging").json() is None
    assert reader.post("/hanging", json=HANGING, headers=OWN).json() == {"is_saved": True}
    assert reader.get("/hanging").json() == HANGING
    assert (session.folder / "hanging.json").is_file()
    for wrong in ({"layout": "four"}, {"slab_mm": 7}, {"more": 1}, {"zoom": {"axial": 0}}):
        response = reader.post("/hanging", json={**HANGING, **wrong}, headers=OWN)
        assert response.status_code == 422
    assert reader.get("/hanging").json() == HANGING


def test_a_broken_hanging_names_its_file(reader: TestClient, session: ReadingSession) -> None:
    (session.folder / "hanging.json").write_text('{"layout": "one"}', encoding="utf-8")
    response = reader.get("/hanging")
    assert response.status_code == 422
    assert "hanging.json" in response.json()["problem"]


def test_the_page_requests_all_modules_at_once(reader: TestClient) -> None:
    asked = re.findall(r'<link rel="modulepreload" href="static/(.*?)">', reader.get("/").text)
    assert {"findings.js", "paint.js"} < set(asked)  # only view.js imports the second
    assert "evaluation.js" not in asked
    for name in asked:
        assert reader.get(f"/static/{name}").status_code == 200


def test_the_command_line_fills_all_options_of_the_server() -> None:
    own = {"place", "reader", "folder", "images", "key", "own_key", "key_passphrase_file"}
    own |= {"browser"}
    options = set(signature(serve).parameters) - {"opening", "on_ready"}
    assert {parameter.name for parameter in command.params} == own | options
