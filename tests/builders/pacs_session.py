"""In a separate network: a real PACS (Orthanc) takes a series, gives it by DICOMweb, sends it on.

Usage: ``unshare --net python pacs_session.py FOLDER``; prints what happened as JSON.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import requests
from pynetdicom import AE, StoragePresentationContexts

from nodulebench.curation.pacs import connect, fetch_series, list_series, listening
from nodulebench.imaging.volume import make_volume
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.dicom.volumes import read_volume, write_volume

HTTP, DICOM, OURS = 18042, 14242, 11112
PLUGIN = "/usr/share/orthanc/plugins/libOrthancDicomWeb.so"


def ask(path: str, body: str | None = None) -> Any:
    """What Orthanc's own interface answers."""
    method = "GET" if body is None else "POST"
    answer = requests.request(method, f"http://127.0.0.1:{HTTP}{path}", data=body, timeout=60)
    answer.raise_for_status()
    return answer.json()


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Orthanc, once it answers."""
    settings = {
        "StorageDirectory": str(folder / "storage"), "IndexDirectory": str(folder / "storage"),
        "Plugins": [PLUGIN], "HttpPort": HTTP, "DicomPort": DICOM, "DicomAet": "ORTHANC",
        "RemoteAccessAllowed": False, "AuthenticationEnabled": False,
        "DicomModalities": {"bench": ["NODULEBENCH", "127.0.0.1", OURS]},
        "DicomWeb": {"Enable": True, "Root": "/dicom-web/"},
    }  # fmt: skip
    (folder / "orthanc.json").write_text(json.dumps(settings), encoding="utf-8")
    with (folder / "orthanc.log").open("wb") as log:
        process = subprocess.Popen(
            ["/usr/sbin/Orthanc", str(folder / "orthanc.json")], stdout=log, stderr=log
        )
    for _ in range(1200):
        try:
            ask("/system")
        except (requests.ConnectionError, requests.HTTPError):
            time.sleep(0.1)
        else:
            return process
    raise TimeoutError("Orthanc did not answer within 120 s")


def send(paths: list[Path], port: int, caller: str, called: str) -> list[int]:
    """The statuses that a node gave for every object."""
    from pydicom import dcmread

    node = AE(ae_title=caller)
    node.requested_contexts = StoragePresentationContexts[:128]
    association = node.associate("127.0.0.1", port, ae_title=called)
    if not association.is_established:
        return []
    statuses = [association.send_c_store(dcmread(path)).Status for path in paths]
    association.release()
    return statuses


def main(folder: Path) -> None:
    """Print what came of it."""
    rng = np.random.default_rng(3)
    volume = make_volume(
        rng.integers(-1000, 400, (8, 32, 32), dtype=np.int16), spacing_mm=(0.7, 0.7, 1.25)
    )
    write_volume(volume, folder / "sent", SeriesHeader("1.2.3", "1.2.4", "1.2.5", "patient"))
    paths = sorted((folder / "sent").glob("*"))
    process = start(folder)
    try:
        stored = send(paths, DICOM, "TEST", "ORTHANC")
        client = connect(f"http://127.0.0.1:{HTTP}/dicom-web")
        (series,) = list_series(client)
        none = list(list_series(client, {"PatientID": "unknown"}))
        list(fetch_series(client, series, folder / "fetched"))
        with listening(folder / "pushed", port=OURS, callers=("ORTHANC",)):
            answer = ask("/modalities/bench/store", body=ask("/series")[0])
    finally:
        process.terminate()
        process.wait(20)
    same = {
        name: bool(np.array_equal(read_volume(folder / name / series.series_uid).hu, volume.hu))
        for name in ("fetched", "pushed")
    }
    attributes = {
        "stored": stored, "instances": series.instances, "found_for_unknown": len(none),
        "pushed": answer.get("InstancesCount"), "failed": answer.get("FailedInstancesCount"),
        "same": same,
    }  # fmt: skip
    sys.stdout.write(f"{json.dumps(attributes)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
