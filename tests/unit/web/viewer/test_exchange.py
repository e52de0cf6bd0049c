"""Readings as files of other viewers, and back: the same voxels, only of this reader."""

import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from builders.attacked import OWN
from builders.reading import BALL_MM, ball, write_scans
from nodulebench.imaging.rasters import voxels_of
from nodulebench.web.viewer.app import LocalAuth, workbench_app
from nodulebench.web.viewer.findings import Finding
from nodulebench.web.viewer.scans import Tiles
from nodulebench.web.viewer.session import open_session

SCANS = {"plain": ball(), "flipped": ball(direction=np.diag([-1.0, -1.0, 1.0]))}
AUTH = LocalAuth(8040)
PLACE = BALL_MM.tolist()


@pytest.fixture(params=SCANS)
def client(request: Any, tmp_path: Path) -> Iterator[TestClient]:
    folder = write_scans(tmp_path / "scans", "a", volume=SCANS[request.param])
    with open_session(folder, "anna") as session:
        made = TestClient(workbench_app(session, AUTH), base_url="http://127.0.0.1:8040")
        made.get(AUTH.address)
        yield made


def drawn(client: TestClient) -> dict[str, Any]:
    """The ball, and a point next to it."""
    outlines = client.post("/scans/0/proposal", json={"position_mm": PLACE}, headers=OWN).json()
    nodule = {"position_mm": PLACE, "slices": outlines["slices"], "type": "solid", "malignancy": 4}
    point = {"position_mm": [PLACE[0] - 12, *PLACE[1:]], "kind": "non_nodule"}
    for number, finding in enumerate((nodule, point), 1):
        edit = {"client": "tab", "number": number, "finding_id": f"f{number}", "finding": finding}
        assert client.post("/scans/0/edits", json=edit, headers=OWN).status_code == 200
    return nodule


def voxels(finding: dict[str, Any], tiles: Tiles) -> set[tuple[int, ...]]:
    made = Finding.model_validate(finding)
    return set(
        map(tuple, voxels_of((slice_.as_drawn for slice_ in made.slices), tiles.grid).tolist())
    )


@pytest.mark.parametrize(
    ("kind", "ending"),
    [
        ("slicer_markups", ".mrk.json"),
        ("seg_nrrd", ".seg.nrrd"),
        ("nifti_labels", ".nifti_labels.zip"),
        ("lidc_xml", ".xml"),
    ],
)
def test_a_saved_file_can_be_loaded_again(client: TestClient, kind: str, ending: str) -> None:
    nodule = drawn(client)
    answer = client.get(f"/scans/0/files/{kind}")
    assert answer.status_code == 200, answer.text
    assert f"a{ending}" in answer.headers["content-disposition"]
    name = {"name": f"elsewhere{ending}"}
    response = client.post("/scans/0/files", params=name, content=answer.content, headers=OWN)
    assert response.status_code == 200, response.text
    back = [finding["finding"] for finding in response.json()["findings"]]
    tiles = client.app.state.session.tiles(0, waits_s=600)
    assert voxels(back[0], tiles) == voxels(nodule, tiles)
    assert back[0]["malignancy"] == 4
    has_points = kind not in ("seg_nrrd", "nifti_labels")
    assert [finding["kind"] for finding in back[1:]] == (["non_nodule"] if has_points else [])
    assert len(client.get("/scans/0/reading").json()["findings"]) == 2  # nothing was stored


def test_a_label_map_without_table_keeps_every_voxel(client: TestClient) -> None:
    """Like a file of another program, which has no table."""
    nodule = drawn(client)
    saved = client.get("/scans/0/files/nifti_labels").content
    with zipfile.ZipFile(io.BytesIO(saved)) as packed:
        assert sorted(packed.namelist()) == ["anna/a.nii.gz", "labels.csv"]
        labels = packed.read("anna/a.nii.gz")
    tiles = client.app.state.session.tiles(0, waits_s=600)
    for name, content in (("x.nii.gz", labels), ("x.nii", gzip.decompress(labels))):
        response = client.post(
            "/scans/0/files", params={"name": name}, content=content, headers=OWN
        )
        (back,) = response.json()["findings"]
        assert voxels(back["finding"], tiles) == voxels(nodule, tiles)
        assert back["finding"]["malignancy"] is None


def test_unusable_zips_and_decompression_bombs_are_refused(client: TestClient) -> None:
    drawn(client)
    saved = client.get("/scans/0/files/nifti_labels").content
    with zipfile.ZipFile(io.BytesIO(saved)) as packed:
        labels = packed.read("anna/a.nii.gz")
    header = bytearray(gzip.decompress(labels)[:352])
    header[42:48] = np.array([2000, 2000, 2000], dtype="<i2").tobytes()
    burst = gzip.compress(bytes(header) + bytes(1 << 20))
    for name, content, word in (
        ("x.nifti_labels.zip", b"PK", "is not a readable zip"),
        ("x.nifti_labels.zip", zipped(), "holds 0 label maps"),
        ("x.nifti_labels.zip", zipped(**{"a.nii.gz": labels, "b.nii.gz": labels}), "holds 2"),
        ("x.nifti_labels.zip", zipped(**{"../a.nii.gz": burst}), "would unpack"),
        ("x.nii.gz", burst, "would unpack to 14.9 GiB"),
    ):
        response = client.post(
            "/scans/0/files", params={"name": name}, content=content, headers=OWN
        )
        assert response.status_code == 422
        assert word in response.json()["problem"]


def zipped(**parts: bytes) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, part in parts.items():
            packed.writestr(name, part)
    return content.getvalue()


def test_empty_readings_unknown_formats_and_broken_files_are_refused(client: TestClient) -> None:
    assert client.get("/scans/0/files/seg_nrrd").status_code == 404
    assert client.get("/scans/0/files/exe").status_code == 422
    for name, content in (("a.txt", b"x"), ("a.seg.nrrd", b"NRRD0004\n"), ("a.mrk.json", b"{")):
        response = client.post(
            "/scans/0/files", params={"name": name}, content=content, headers=OWN
        )
        assert response.status_code == 422
        assert response.json()["problem"]


def test_a_file_that_is_too_large_is_refused(client: TestClient, monkeypatch: Any) -> None:
    monkeypatch.setattr("nodulebench.web.viewer.routes.MOST_BYTES", 10)
    name = {"name": "a.mrk.json"}
    response = client.post("/scans/0/files", params=name, content=b"x" * 11, headers=OWN)
    assert response.status_code == 422
    assert "is larger than 64 MiB. Save label maps packed" in response.json()["problem"]


def test_a_submitted_reading_accepts_no_file(client: TestClient) -> None:
    drawn(client)
    client.post("/scans/0/submit", headers=OWN)
    saved = client.get("/scans/0/files/slicer_markups")
    assert saved.status_code == 200
    name = {"name": "a.mrk.json"}
    response = client.post("/scans/0/files", params=name, content=saved.content, headers=OWN)
    assert response.status_code == 409
