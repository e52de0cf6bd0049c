"""A program that is tested: called with its image and folder, stopped when it takes too long."""

import os
import sys
import time
from pathlib import Path

import pytest

from nodulebench.core.errors import InputError
from nodulebench.runner.command import check_command, run_command

COPY = "import sys, shutil; shutil.copy(sys.argv[1], sys.argv[2])"


def program(text: str) -> str:
    return f'{sys.executable} -c "{text}" {{case}} {{out}}'


def test_the_image_and_the_folder_are_where_the_command_says(tmp_path: Path) -> None:
    (tmp_path / "my image.mhd").write_text("hello")
    (tmp_path / "out").mkdir()
    run_command(program(COPY), tmp_path / "my image.mhd", tmp_path / "out")
    assert (tmp_path / "out" / "my image.mhd").read_text() == "hello"


@pytest.mark.parametrize(
    ("template", "message"),
    [("detect", "lacks {case} and {out}"), ("detect {case}", "lacks {out}")],
)
def test_a_command_without_a_place_for_both_is_refused(template: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_command(template)


def test_the_last_words_of_a_program_that_fails_are_reported(tmp_path: Path) -> None:
    failing = program("import sys; print('first'); sys.exit('no GPU')")
    with pytest.raises(InputError, match="ended with 1; its last line: no GPU"):
        run_command(failing, tmp_path, tmp_path)
    with pytest.raises(InputError, match="cannot be started"):
        run_command("no-such-program {case} {out}", tmp_path, tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_program_that_takes_too_long_is_stopped_with_its_children(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    child = f"import time; held = open({str(tmp_path / 'pipe')!r}, 'w'); time.sleep(3600)"
    script = tmp_path / "slow.py"
    script.write_text(
        f"import subprocess, sys, time\n"
        f"subprocess.Popen([sys.executable, '-c', {child!r}])\ntime.sleep(3600)\n"
    )
    with pytest.raises(InputError, match=r"did not end within 1 s"):
        run_command(f"{sys.executable} {script} {{case}} {{out}}", tmp_path, tmp_path, seconds=1.0)
    while is_held(reading):
        time.sleep(0.01)
    os.close(reading)


def is_held(reading: int) -> bool:
    """Whether a process has the other end of a pipe."""
    try:
        return os.read(reading, 1) != b""
    except BlockingIOError:
        return True
