"""One process at a time, on every system; nothing stays behind."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.io.atomic import locked


def test_another_process_is_refused_until_the_work_is_done(tmp_path: Path) -> None:
    file = tmp_path / ".lock"
    program = (
        "from pathlib import Path; from nodulebench.io.atomic import locked\n"
        f"with locked(Path({str(file)!r}), Path('the set')): print('alone')\n"
    )
    with locked(file, tmp_path):
        refused = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert refused.stderr.splitlines()[-1].endswith(
        "the set: is being written by another process. Wait for it to end."
    )
    allowed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert allowed.stdout == "alone\n"
    assert list(tmp_path.iterdir()) == []


def test_a_claim_ends_with_an_error_in_the_work(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path / ".lock", tmp_path):
        raise ZeroDivisionError
    with locked(tmp_path / ".lock", tmp_path):
        pass


def test_who_waits_comes_next(tmp_path: Path) -> None:
    order: list[int] = []

    def work(number: int) -> None:
        with locked(tmp_path / ".lock", tmp_path, waits_s=20):
            order.append(number)
            order.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert order[::2] == order[1::2]
    assert sorted(order) == sorted([*range(6), *range(6)])


def test_a_lock_file_that_a_killed_process_left_is_not_a_claim(tmp_path: Path) -> None:
    (tmp_path / ".lock").touch()
    with locked(tmp_path / ".lock", tmp_path):
        pass


def test_where_another_process_holds_on_the_reason_is_reported(tmp_path: Path) -> None:
    with (
        locked(tmp_path / ".lock", tmp_path),
        pytest.raises(InputError, match="another process"),
        locked(tmp_path / ".lock", tmp_path),
    ):
        raise AssertionError("two at once")
