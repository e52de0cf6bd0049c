"""What runs beside the server is started again when it ends, ends with it, and shows no secret."""

from threading import Event

import pytest

from nodulebench.core.errors import InputError
from nodulebench.web.portal import serve as module
from nodulebench.web.portal.serve import _web, _worker, run_alongside
from nodulebench.web.portal.site import Settings
from nodulebench.web.viewer.app import LOOPBACK, open_listener


class Process:
    """What a command became."""

    def __init__(self, words, stdin, env) -> None:
        self.words, self.env, self.stdin = words, env, stdin
        self.returncode: int | None = None
        self.is_ended = False
        STARTED.append(self)
        if len(STARTED) == 3:
            AGAIN.set()

    def poll(self) -> int | None:
        return self.returncode

    def terminate(self) -> None:
        self.is_ended = True

    def wait(self) -> int:
        return 0


STARTED: list[Process] = []
AGAIN = Event()


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Process]:
    STARTED.clear()
    AGAIN.clear()
    monkeypatch.setattr(module.subprocess, "Popen", Process)
    monkeypatch.setattr(module, "POLL_S", 0.01)
    return STARTED


def test_what_ended_is_started_again_and_all_end_with_the_server(started: list[Process]) -> None:
    with run_alongside([["portal", "worker"], ["portal", "--port=1"]], {}):
        started[0].returncode = -9
        assert AGAIN.wait(10)
    assert [one.words[3:5] for one in started] == [
        ["portal", "worker"],
        ["portal", "--port=1"],
        ["portal", "worker"],
    ]
    assert [one.is_ended for one in started] == [False, True, True]
    assert all(one.words[-1] == "--until-parent-ends" for one in started)


def test_no_list_of_processes_shows_a_secret(started: list[Process], tmp_path) -> None:
    settings = Settings(tmp_path, "postgresql://portal:geheim@db/portal")
    commands = [_web(settings, "127.0.0.1", 8000), _worker(settings)]
    with run_alongside(commands, {"NODULEBENCH_DATABASE": settings.database_url}):
        pass
    assert not any("geheim" in " ".join(one.words) for one in started)
    assert all("geheim" in one.env["NODULEBENCH_DATABASE"] for one in started)


def test_a_port_that_somebody_has_is_told() -> None:
    with open_listener(LOOPBACK, 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match="cannot be listened on"):
            open_listener(LOOPBACK, port)
