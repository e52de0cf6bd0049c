import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders.places import ROOT
from nodulebench.core.errors import InputError
from nodulebench.curation.pacs import connect, list_series, listening, store_object
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.dicom.volumes import read_volume, write_volume

pydicom = pytest.importorskip("pydicom")
pytest.importorskip("pynetdicom")
pytest.importorskip("dicomweb_client")

from builders.pacs_session import PLUGIN, send

SESSION = ROOT / "tests" / "builders" / "pacs_session.py"


def _has_own_network() -> bool:
    made = subprocess.run(
        ["unshare", "--net", "ip", "link", "set", "lo", "up"], capture_output=True, check=False
    )
    return made.returncode == 0


@pytest.fixture
def series(tmp_path: Path) -> list[Path]:
    hu = np.random.default_rng(0).integers(-1000, 400, (5, 16, 16), dtype=np.int16)
    volume = make_volume(hu, spacing_mm=(0.7, 0.7, 1.25))
    write_volume(volume, tmp_path / "sent", SeriesHeader("1.2.3", "1.2.4", "1.2.5", "patient"))
    return sorted((tmp_path / "sent").glob("*"))


@pytest.mark.skipif(not Path(PLUGIN).exists(), reason="Orthanc is not installed")
@pytest.mark.skipif(
    not shutil.which("unshare") or not shutil.which("ip") or not _has_own_network(),
    reason="a network namespace cannot be made here",
)
def test_a_real_pacs_gives_and_sends_the_series_it_took(tmp_path: Path) -> None:
    inside = 'ip link set lo up && exec "$@"'
    command = ["unshare", "--net", "sh", "-c", inside, "sh", sys.executable, SESSION, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout.splitlines()[-1])
    assert document == {
        "stored": [0] * 8,
        "instances": 8,
        "found_for_unknown": 0,
        "pushed": 8,
        "failed": 0,
        "same": {"fetched": True, "pushed": True},
    }


def test_received_objects_are_in_a_folder_per_series(tmp_path: Path, series: list[Path]) -> None:
    with listening(tmp_path / "in", port=0) as port:
        assert send(series, port, "SCANNER", "NODULEBENCH") == [0] * 5
        assert send(series, port, "SCANNER", "NODULEBENCH") == [0] * 5  # again: the same files
    received = read_volume(tmp_path / "in" / "1.2.3")
    assert np.array_equal(received.hu, read_volume(tmp_path / "sent").hu)
    assert len(list((tmp_path / "in").rglob("*"))) == 6


def test_only_known_callers_that_mean_us_may_send(tmp_path: Path, series: list[Path]) -> None:
    with listening(tmp_path / "in", port=0, callers=("PACS",)) as port:
        assert send(series, port, "STRANGER", "NODULEBENCH") == []
        assert send(series, port, "PACS", "SOMEONE") == []
        assert send(series, port, "PACS", "NODULEBENCH") == [0] * 5


def _changed(path: Path, **elements: Any) -> Any:
    dataset = pydicom.dcmread(path)
    for keyword, value in elements.items():
        setattr(dataset, keyword, value)
    return dataset


@pytest.mark.filterwarnings("ignore::UserWarning")  # pydicom warns of such UIDs
@pytest.mark.parametrize(
    "uid", ["../../etc/passwd", "1.2/3", "", "1.2.x", "1" * 65, "1..2", "1.2\n3", "1.2\x1b[2J"]
)
def test_names_that_are_not_uids_are_refused(tmp_path: Path, series: list[Path], uid: str) -> None:
    with pytest.raises(InputError, match="SeriesInstanceUID") as refused:
        store_object(_changed(series[0], SeriesInstanceUID=uid), tmp_path / "in")
    assert str(refused.value).isprintable()
    assert not (tmp_path / "in").exists()


def test_another_object_with_a_known_uid_is_refused(tmp_path: Path, series: list[Path]) -> None:
    path = store_object(pydicom.dcmread(series[0]), tmp_path / "in")
    first = path.read_bytes()
    with pytest.raises(InputError, match="exists with other content"):
        store_object(_changed(series[0], KVP="80"), tmp_path / "in")
    assert path.read_bytes() == first
    assert list(path.parent.iterdir()) == [path]


def test_a_refused_object_is_reported_and_the_service_goes_on(
    tmp_path: Path, series: list[Path]
) -> None:
    changed = tmp_path / "changed.dcm"
    _changed(series[0], KVP="80").save_as(changed)
    messages: list[str] = []
    with listening(tmp_path / "in", port=0, report=messages.append) as port:
        assert send([series[0], changed, series[1]], port, "A", "NODULEBENCH") == [0, 0xC000, 0]
    assert len(messages) == 1
    assert "exists with other content" in messages[0]


def test_a_taken_port_and_a_silent_server_are_reported(tmp_path: Path) -> None:
    with listening(tmp_path / "in", port=0) as port:
        second = listening(tmp_path / "other", port=port)
        with pytest.raises(InputError, match=f"port {port}: cannot be opened"):
            second.__enter__()
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9/dicom-web.* cannot be reached"):
        list(list_series(connect("http://127.0.0.1:9/dicom-web")))
