"""The port of the viewer: the last one, so that a browser can send edits that it stored."""

import socket
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.web.viewer.app import LOOPBACK, PORT, _open_last_port, open_listener


def port_of(folder: Path, port: int = 0) -> int:
    with _open_last_port(folder, port) as listener:
        return int(listener.getsockname()[1])


def test_a_session_listens_on_its_last_port(tmp_path: Path) -> None:
    first = port_of(tmp_path / "reading")
    assert port_of(tmp_path / "reading") == first
    assert (tmp_path / "reading" / PORT).read_text() == str(first)


def test_a_given_port_is_used_and_remembered(tmp_path: Path) -> None:
    free = port_of(tmp_path / "other")
    assert port_of(tmp_path, free) == free
    assert port_of(tmp_path) == free


@pytest.mark.parametrize("stored", ["", "x", "99999", "-1"])
def test_an_invalid_stored_port_is_ignored(tmp_path: Path, stored: str) -> None:
    (tmp_path / PORT).write_text(stored)
    port = port_of(tmp_path)
    assert port > 0
    assert port_of(tmp_path) == port


def test_a_port_that_is_taken_is_replaced(tmp_path: Path) -> None:
    with _open_last_port(tmp_path, 0) as theirs:
        taken = theirs.getsockname()[1]
        assert port_of(tmp_path) != taken
        with pytest.raises(InputError, match="--port"):
            port_of(tmp_path, taken)


def test_responses_are_sent_without_delay() -> None:
    with (
        open_listener(LOOPBACK, 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
