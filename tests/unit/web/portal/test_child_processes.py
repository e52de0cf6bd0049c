"""Child processes of the server are restarted, end with it, and show no secrets."""

from threading import Event

import pytest

from nodulebench.core.errors import InputError
from nodulebench.web.portal import serve as module
from nodulebench.web.portal.serve import _web, _worker, run_alongside
from nodulebench.web.portal.site import Settings
from nodulebench.web.viewer.app import LOOPBACK, open_listener


class Process:
    """A recorded child process."""

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


def test_child_processes_are_restarted_and_end_with_the_server(started: list[Process]) -> None:
    with run_alongside([["portal", "worker"], ["portal", "--port=1"]], {}):
        started[0].returncode = -9
        assert AGAIN.wait(10)
    # -P: nothing is imported from the folder in which the server was started
    assert [process.words[1:4] for process in started] == [["-P", "-m", "nodulebench"]] * 3
    assert [process.words[4:6] for process in started] == [
        ["portal", "worker"],
        ["portal", "--port=1"],
        ["portal", "worker"],
    ]
    assert [process.is_ended for process in started] == [False, True, True]
    assert all(process.words[-1] == "--until-parent-ends" for process in started)


def test_process_lists_show_no_secret(started: list[Process], tmp_path) -> None:
    settings = Settings(tmp_path, "postgresql://portal:geheim@db/portal")
    commands = [_web(settings, "127.0.0.1", 8000), _worker(settings)]
    with run_alongside(commands, {"NODULEBENCH_DATABASE": settings.database_url}):
        pass
    assert not any("geheim" in " ".join(process.words) for process in started)
    assert all("geheim" in process.env["NODULEBENCH_DATABASE"] for process in started)


def test_a_used_port_is_reported() -> None:
    with open_listener(LOOPBACK, 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match="cannot be listened on"):
            open_listener(LOOPBACK, port)
