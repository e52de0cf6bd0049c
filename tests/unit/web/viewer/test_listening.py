"""Where the reading room listens: where it did before, so that edits that wait find it again."""

import socket
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.web.viewer.app import LOOPBACK, PORT, _listening_as_before, listening


def port_of(folder: Path, port: int = 0) -> int:
    with _listening_as_before(folder, port) as heard:
        return int(heard.getsockname()[1])


def test_a_room_is_opened_again_where_it_was(tmp_path: Path) -> None:
    first = port_of(tmp_path / "reading")
    assert port_of(tmp_path / "reading") == first
    assert (tmp_path / "reading" / PORT).read_text() == str(first)


def test_a_port_that_was_asked_for_is_the_one_and_is_remembered(tmp_path: Path) -> None:
    free = port_of(tmp_path / "other")
    assert port_of(tmp_path, free) == free
    assert port_of(tmp_path) == free


@pytest.mark.parametrize("kept", ["", "x", "99999", "-1"])
def test_what_is_no_port_is_forgotten(tmp_path: Path, kept: str) -> None:
    (tmp_path / PORT).write_text(kept)
    found = port_of(tmp_path)
    assert found > 0
    assert port_of(tmp_path) == found


def test_a_port_that_somebody_else_has_is_left_to_them(tmp_path: Path) -> None:
    with _listening_as_before(tmp_path, 0) as theirs:
        taken = theirs.getsockname()[1]
        assert port_of(tmp_path) != taken
        with pytest.raises(InputError, match="--port"):
            port_of(tmp_path, taken)


def test_what_is_answered_waits_for_nobody() -> None:
    with (
        listening(LOOPBACK, 0) as heard,
        socket.create_connection(heard.getsockname()),
        heard.accept()[0] as connection,
    ):
        assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
