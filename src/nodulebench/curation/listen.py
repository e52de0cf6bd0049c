"""A DICOM node that takes what a PACS sends (C-STORE) and answers C-ECHO -> files in a folder."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nodulebench.core.errors import InputError, NoduleBenchError, first_line
from nodulebench.core.optional_packages import needs
from nodulebench.curation.pacs import PURPOSE, store_object

SUCCESS = 0x0000
CANNOT_UNDERSTAND = 0xC000
OUT_OF_RESOURCES = 0xA700
MOST_PDU_BYTES = 0
"""0: as large as the sender likes, which is fastest."""

Told = Callable[[str], None]

_log = logging.getLogger(__name__)


@contextmanager
def listening(
    folder: Path,
    *,
    port: int,
    title: str = "NODULEBENCH",
    callers: tuple[str, ...] = (),
    host: str = "127.0.0.1",
    told: Told = lambda _: None,
) -> Iterator[int]:
    """Listen until the block ends; yields the port.

    Args:
        folder: where objects go, a folder per series.
        port: to listen on; 0 takes a free one.
        title: our application entity title; callers must ask for it.
        callers: titles that may send; empty: any.
        host: the address to listen on; by default this machine alone can reach it.
        told: a line for every object that was not kept.

    Raises:
        InputError: if the port is taken or pynetdicom is not installed.
    """
    with needs("pacs", PURPOSE):
        import pynetdicom
        from pynetdicom.sop_class import Verification  # type: ignore[attr-defined]
    node = pynetdicom.AE(ae_title=title)
    node.maximum_pdu_size = MOST_PDU_BYTES
    node.require_called_aet = True
    node.require_calling_aet = list(callers)
    # any transfer syntax is taken: what is sent is written as it is, not decoded
    syntaxes = pynetdicom.ALL_TRANSFER_SYNTAXES
    for context in pynetdicom.AllStoragePresentationContexts:
        node.add_supported_context(context.abstract_syntax or "", syntaxes)
    node.add_supported_context(Verification)
    try:
        server = node.start_server(
            (host, port),
            block=False,
            evt_handlers=[(pynetdicom.evt.EVT_C_STORE, _stored, [folder, told])],
        )
    except OSError as error:
        raise InputError.at(
            f"port {port}", f"cannot be listened on: {error.strerror}.", "Choose another."
        ) from error
    assert server is not None  # noqa: S101 - not blocking, it is always one
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()


def _stored(event: Any, folder: Path, told: Told) -> int:
    """Keep one object; the status that the sender is given."""
    try:
        dataset = event.dataset
        dataset.file_meta = event.file_meta
        store_object(dataset, folder)
    except NoduleBenchError as error:
        told(str(error))
        return CANNOT_UNDERSTAND
    except OSError as error:
        told(f"{folder}: cannot be written: {error.strerror}.")
        return OUT_OF_RESOURCES
    except Exception as error:  # whatever a stranger sends must not end the service
        _log.exception("a received object could not be kept")
        told(f"received object: cannot be read: {first_line(error)}.")
        return CANNOT_UNDERSTAND
    return SUCCESS
