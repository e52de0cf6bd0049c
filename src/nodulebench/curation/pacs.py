"""DICOM objects from a network -> files in a folder, one folder per series, complete or not at all.

Only the UIDs of an object decide where its file goes, and they must be valid.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nodulebench.core.errors import (
    InputError,
    NoduleBenchError,
    Problem,
    first_line,
    raise_problems,
)
from nodulebench.core.json_types import JsonObject
from nodulebench.core.optional_packages import needs
from nodulebench.core.text import in_a_line
from nodulebench.io.atomic import staged_file
from nodulebench.io.dicom.slices import UID

if TYPE_CHECKING:
    from dicomweb_client.api import DICOMwebClient
    from pydicom.dataset import Dataset
    from pynetdicom.events import Event

LONGEST_UID = 64
PURPOSE = "receiving from a PACS"


def store_object(dataset: "Dataset", folder: Path) -> Path:
    """Write a received object to ``folder/<series>/<object>.dcm``; returns the path.

    An object that exists already must have the same bytes; otherwise the new one is refused.
    """
    series = checked_uid(dataset, "SeriesInstanceUID")
    name = checked_uid(dataset, "SOPInstanceUID")
    path = folder / series / f"{name}.dcm"
    path.parent.mkdir(parents=True, exist_ok=True)
    with needs("pacs", PURPOSE):
        import pydicom
    with staged_file(path) as stage:
        pydicom.dcmwrite(stage, dataset, enforce_file_format=True)
        if path.exists() and path.read_bytes() != stage.read_bytes():
            what = "exists with other content; the received object was not stored."
            remedy = "Receive into an empty folder, and ask the sender which one is right."
            raise InputError.at(path, what, remedy)
    return path


def checked_uid(dataset: "Dataset", keyword: str) -> str:
    """A UID of an object; refused if not valid, because it would become the name of a file."""
    uid = str(dataset.get(keyword, "") or "")
    if len(uid) > LONGEST_UID or not UID.fullmatch(uid):
        shown = f"'{in_a_line(uid[:LONGEST_UID])}' is not a UID" if uid else "is missing"
        raise InputError.at("received object", f"its {keyword} {shown}; it was not stored.")
    return uid


SUCCESS = 0x0000
CANNOT_UNDERSTAND = 0xC000
OUT_OF_RESOURCES = 0xA700
MOST_PDU_BYTES = 0
"""0: no limit, which is fastest."""

PacsProgress = Callable[[str], None]

_log = logging.getLogger(__name__)


@contextmanager
def listening(
    folder: Path,
    *,
    port: int,
    title: str = "NODULEBENCH",
    callers: tuple[str, ...] = (),
    host: str = "127.0.0.1",
    report: PacsProgress = lambda _: None,
) -> Iterator[int]:
    """Listen until the block ends; yields the port (0 takes a free one).

    Callers must use the application entity title of this node; ``callers``, if any, are the only
    nodes that may send. By default only this machine can reach it.
    """
    with needs("pacs", PURPOSE):
        import pynetdicom
        from pynetdicom.sop_class import Verification  # type: ignore[attr-defined]
    node = pynetdicom.AE(ae_title=title)
    node.maximum_pdu_size = MOST_PDU_BYTES
    node.require_called_aet = True
    node.require_calling_aet = list(callers)
    # accept any transfer syntax: objects are written unchanged, not decoded
    syntaxes = pynetdicom.ALL_TRANSFER_SYNTAXES
    for context in pynetdicom.AllStoragePresentationContexts:
        node.add_supported_context(context.abstract_syntax or "", syntaxes)
    node.add_supported_context(Verification)
    try:
        server = node.start_server(
            (host, port),
            block=False,
            evt_handlers=[(pynetdicom.evt.EVT_C_STORE, _stored, [folder, report])],
        )
    except OSError as error:
        raise InputError.at(
            f"port {port}", f"cannot be opened: {error.strerror}.", "Choose another port."
        ) from error
    assert server is not None  # noqa: S101 - not blocking, it is always one
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()


def _stored(event: "Event", folder: Path, report: PacsProgress) -> int:
    try:
        dataset = event.dataset
        dataset.file_meta = event.file_meta
        store_object(dataset, folder)
    except NoduleBenchError as error:
        report(str(error))
        return CANNOT_UNDERSTAND
    except OSError as error:
        report(f"{folder}: cannot be written: {error.strerror}.")
        return OUT_OF_RESOURCES
    except Exception as error:  # no received data may end the service
        _log.exception("a received object could not be stored")
        report(f"received object: cannot be read: {first_line(error)}.")
        return CANNOT_UNDERSTAND
    return SUCCESS


PAGE = 100
SERIES_FIELDS = ("SeriesDescription", "NumberOfSeriesRelatedInstances", "Modality")
TIMEOUT_S = 60.0
ATTEMPTS, WAIT_MS = 3, 500
"""A wrong address is reported after three seconds, not after thirty."""


@dataclass(frozen=True, slots=True)
class RemoteSeries:
    """A series that a server has."""

    study_uid: str
    series_uid: str
    description: str
    instances: int | None


def connect(url: str, headers: dict[str, str] | None = None) -> "DICOMwebClient":
    """A client of the DICOMweb server at this address (https://host/dicom-web)."""
    with needs("pacs", PURPOSE):
        from dicomweb_client import api as package
    try:
        client = package.DICOMwebClient(url, headers=headers, timeout=TIMEOUT_S)
    except (ValueError, TypeError) as error:
        raise InputError.at(url, f"is not an address of a DICOMweb server: {error}.") from error
    client.set_http_retry_params(max_attempts=ATTEMPTS, wait_exponential_multiplier=WAIT_MS)
    return client


def list_series(
    client: "DICOMwebClient", filters: dict[str, str] | None = None
) -> Iterator[RemoteSeries]:
    """The CT series of a server, page by page.

    ``filters``: attributes and the values they must have, such as ``PatientID`` or ``StudyDate`` (a
    range as 20200101-20201231).
    """
    offset = 0
    while True:
        with _server_errors(client):
            answer = client.search_for_series(
                search_filters={"Modality": "CT", **(filters or {})},
                fields=list(SERIES_FIELDS),
                limit=PAGE,
                offset=offset,
            )
        for series in answer:
            tags = ("0020000D", "0020000E", "0008103E", "00201209")
            study, own, description, count = (_value(series, tag) for tag in tags)
            yield RemoteSeries(study, own, description, int(count) if count.isdigit() else None)
        if len(answer) < PAGE:
            return
        offset += len(answer)


def fetch_series(client: "DICOMwebClient", series: RemoteSeries, folder: Path) -> Iterator[Path]:
    """Fetch a series object by object into ``folder/<series>/``, in the syntax it is stored in."""
    count = 0
    with _server_errors(client):
        for dataset in client.iter_series(
            series.study_uid, series.series_uid, media_types=(("application/dicom", "*"),)
        ):
            yield store_object(dataset, folder)
            count += 1
    if series.instances is not None and count < series.instances:
        what = f"the server sent {count} of {series.instances} objects."
        remedy = "Fetch it again; the received objects stay."
        raise InputError.at(f"series {series.series_uid}", what, remedy)


@contextmanager
def _server_errors(client: "DICOMwebClient") -> Iterator[None]:
    with needs("pacs", PURPOSE):
        import requests
    try:
        yield
    except (requests.RequestException, OSError) as error:
        response = getattr(error, "response", None)
        what = f"answered {response.status_code}" if response is not None else "cannot be reached"
        raise InputError.at(
            client.base_url, f"{what}: {error}.", "Check the address and the credentials."
        ) from error


def _value(dataset: JsonObject, tag: str) -> str:
    values = dataset.get(tag, {}).get("Value", [])
    return in_a_line(str(values[0])) if values else ""


def client_of(url: str, token_file: Path | None) -> "DICOMwebClient":
    """A client of a DICOMweb server, with the bearer token that a file holds."""
    token = token_file.read_text(encoding="utf-8").strip() if token_file else ""
    return connect(url, {"Authorization": f"Bearer {token}"} if token else None)


def wanted_series(
    client: "DICOMwebClient", url: str, filters: dict[str, str], uids: Collection[str]
) -> list[RemoteSeries]:
    """The CT series of a server that match filters and UIDs; without UIDs, all."""
    chosen = [
        series for series in list_series(client, filters) if not uids or series.series_uid in uids
    ]
    missing = set(uids) - {series.series_uid for series in chosen}
    raise_problems(Problem(url, f"has no CT series {uid}.") for uid in sorted(missing))
    return chosen
