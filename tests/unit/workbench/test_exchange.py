"""What a reader drew as files of other viewers, and back: the same voxels, their own alone."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from builders.attacked import OWN
from builders.reading import BALL_MM, ball, write_scans
from nodulebench.imaging.outline_pixels import voxels_of
from nodulebench.workbench.app import workbench_app
from nodulebench.workbench.door import Door
from nodulebench.workbench.finding import Finding
from nodulebench.workbench.room import open_room
from nodulebench.workbench.tiles import Tiles

SCANS = {"plain": ball(), "flipped": ball(direction=np.diag([-1.0, -1.0, 1.0]))}
DOOR = Door(8040)
PLACE = BALL_MM.tolist()


@pytest.fixture(params=SCANS)
def client(request: Any, tmp_path: Path) -> Iterator[TestClient]:
    folder = write_scans(tmp_path / "scans", "a", volume=SCANS[request.param])
    with open_room(folder, "anna") as room:
        made = TestClient(workbench_app(room, DOOR), base_url="http://127.0.0.1:8040")
        made.get(DOOR.address)
        yield made


def drawn(client: TestClient) -> dict[str, Any]:
    """The ball, and a point beside it."""
    outlines = client.post("/scans/0/proposal", json={"place_mm": PLACE}, headers=OWN).json()
    nodule = {"place_mm": PLACE, "slices": outlines["slices"], "type": "solid", "malignancy": 4}
    point = {"place_mm": [PLACE[0] - 12, *PLACE[1:]], "kind": "non_nodule"}
    for number, finding in enumerate((nodule, point), 1):
        edit = {"client": "tab", "number": number, "finding_id": f"f{number}", "finding": finding}
        assert client.post("/scans/0/edits", json=edit, headers=OWN).status_code == 200
    return nodule


def voxels(finding: dict[str, Any], tiles: Tiles) -> set[tuple[int, ...]]:
    made = Finding.model_validate(finding)
    return set(map(tuple, voxels_of((one.as_drawn for one in made.slices), tiles.grid).tolist()))


@pytest.mark.parametrize(
    ("kind", "ending"),
    [("slicer_markups", ".mrk.json"), ("seg_nrrd", ".seg.nrrd"), ("lidc_xml", ".xml")],
)
def test_voxels_and_words_come_back(client: TestClient, kind: str, ending: str) -> None:
    nodule = drawn(client)
    answer = client.get(f"/scans/0/files/{kind}")
    assert answer.status_code == 200, answer.text
    assert f"a{ending}" in answer.headers["content-disposition"]
    name = {"name": f"elsewhere{ending}"}
    told = client.post("/scans/0/files", params=name, content=answer.content, headers=OWN)
    assert told.status_code == 200, told.text
    back = [one["finding"] for one in told.json()["findings"]]
    tiles = client.app.state.room.tiles(0, waits_s=60)
    assert voxels(back[0], tiles) == voxels(nodule, tiles)
    assert back[0]["malignancy"] == 4
    assert [one["kind"] for one in back[1:]] == ([] if kind == "seg_nrrd" else ["non_nodule"])
    assert len(client.get("/scans/0/reading").json()["findings"]) == 2  # nothing was kept


def test_a_label_map_comes_with_its_table(client: TestClient) -> None:
    drawn(client)
    answer = client.get("/scans/0/files/nifti_labels")
    assert "a.nifti_labels.zip" in answer.headers["content-disposition"]
    assert answer.content.startswith(b"PK")


def test_nothing_drawn_unknown_kinds_and_broken_files_are_told(client: TestClient) -> None:
    assert client.get("/scans/0/files/seg_nrrd").status_code == 404
    assert client.get("/scans/0/files/exe").status_code == 422
    for name, content in (("a.txt", b"x"), ("a.seg.nrrd", b"NRRD0004\n"), ("a.mrk.json", b"{")):
        told = client.post("/scans/0/files", params={"name": name}, content=content, headers=OWN)
        assert told.status_code == 422
        assert told.json()["problem"]


def test_a_file_that_is_too_large_is_refused(client: TestClient, monkeypatch: Any) -> None:
    monkeypatch.setattr("nodulebench.workbench.routes.exchange.MOST_BYTES", 10)
    name = {"name": "a.mrk.json"}
    told = client.post("/scans/0/files", params=name, content=b"x" * 11, headers=OWN)
    assert told.status_code == 413


def test_what_was_handed_in_takes_no_file(client: TestClient) -> None:
    drawn(client)
    client.post("/scans/0/hand-in", headers=OWN)
    saved = client.get("/scans/0/files/slicer_markups")
    assert saved.status_code == 200
    name = {"name": "a.mrk.json"}
    told = client.post("/scans/0/files", params=name, content=saved.content, headers=OWN)
    assert told.status_code == 409
