"""A DICOMweb server -> its CT series (QIDO-RS), and a series as files in a folder (WADO-RS)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError
from nodulebench.core.optional_packages import needs
from nodulebench.core.text import in_a_line
from nodulebench.curation.pacs import PURPOSE, store_object

PAGE = 100
SERIES_FIELDS = ("SeriesDescription", "NumberOfSeriesRelatedInstances", "Modality")
TIMEOUT_S = 60.0
ATTEMPTS, WAIT_MS = 3, 500
"""Who mistypes an address is told after three seconds, not after thirty."""


@dataclass(frozen=True, slots=True)
class RemoteSeries:
    """A series that a server has."""

    study_uid: str
    series_uid: str
    description: str
    instances: int | None


def connect(url: str, headers: dict[str, str] | None = None) -> Any:
    """A client of the DICOMweb server at this address (https://host/dicom-web)."""
    with needs("pacs", PURPOSE):
        from dicomweb_client import api as package
    try:
        client = package.DICOMwebClient(url, headers=headers, timeout=TIMEOUT_S)
    except (ValueError, TypeError) as error:
        raise InputError.at(url, f"is no address of a DICOMweb server: {error}.") from error
    client.set_http_retry_params(max_attempts=ATTEMPTS, wait_exponential_multiplier=WAIT_MS)
    return client


def list_series(client: Any, filters: dict[str, str] | None = None) -> Iterator[RemoteSeries]:
    """The CT series of a server, page by page.

    Args:
        client: from :func:`connect`.
        filters: attributes and the values they must have, such as ``PatientID`` or ``StudyDate``
            (a range as 20200101-20201231).

    Raises:
        InputError: if the server cannot be reached or refuses.
    """
    offset = 0
    while True:
        with _told(client):
            found = client.search_for_series(
                search_filters={"Modality": "CT", **(filters or {})},
                fields=list(SERIES_FIELDS),
                limit=PAGE,
                offset=offset,
            )
        for one in found:
            yield RemoteSeries(
                study_uid=_value(one, "0020000D") or "",
                series_uid=_value(one, "0020000E") or "",
                description=_value(one, "0008103E") or "",
                instances=_whole(_value(one, "00201209")),
            )
        if len(found) < PAGE:
            return
        offset += len(found)


def fetch_series(client: Any, series: RemoteSeries, folder: Path) -> Iterator[Path]:
    """Fetch a series object by object into ``folder/<series>/``, in the syntax it is stored in.

    Raises:
        InputError: if the server fails, an object is unfit, or fewer came than were announced.
    """
    count = 0
    with _told(client):
        for dataset in client.iter_series(
            series.study_uid, series.series_uid, media_types=(("application/dicom", "*"),)
        ):
            yield store_object(dataset, folder)
            count += 1
    if series.instances is not None and count < series.instances:
        raise InputError.at(
            f"series {series.series_uid}",
            f"the server sent {count} of {series.instances} objects.",
            "Fetch it again; what came is kept.",
        )


@contextmanager
def _told(client: Any) -> Iterator[None]:
    """Turn what a server refuses into a problem with its address."""
    with needs("pacs", PURPOSE):
        import requests
    try:
        yield
    except (requests.RequestException, OSError) as error:
        response = getattr(error, "response", None)
        what = f"answered {response.status_code}" if response is not None else "is not reached"
        raise InputError.at(
            client.base_url, f"{what}: {error}.", "Check the address and the credentials."
        ) from error


def _value(dataset: dict[str, Any], tag: str) -> str | None:
    values = dataset.get(tag, {}).get("Value", [])
    return in_a_line(str(values[0])) if values else None


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
