"""Series from a PACS: listened for (C-STORE), or found and fetched (DICOMweb)."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from nodulebench.core.errors import Problem, refuse_any
from nodulebench.curation.fetch import RemoteSeries, connect, fetch_series, list_series
from nodulebench.curation.listen import listening

__all__ = ["client_of", "fetch_series", "listening", "wanted_series"]


def client_of(url: str, token_file: Path | None) -> Any:
    """A client of a DICOMweb server, with the bearer token that a file holds.

    Raises:
        InputError: if the address is none.
    """
    token = token_file.read_text(encoding="utf-8").strip() if token_file else ""
    return connect(url, {"Authorization": f"Bearer {token}"} if token else None)


def wanted_series(
    client: Any, url: str, filters: dict[str, str], uids: Collection[str]
) -> list[RemoteSeries]:
    """The CT series of a server that filters and UIDs choose; no UIDs: all.

    Raises:
        InputError: if the server has none of a UID.
    """
    found = [one for one in list_series(client, filters) if not uids or one.series_uid in uids]
    missing = set(uids) - {one.series_uid for one in found}
    refuse_any(Problem(url, f"has no CT series {uid}.") for uid in sorted(missing))
    return found
