"""A command with ``{case}`` and ``{out}`` -> what it writes for one image, within a time.

Any program can be tested so: it is called once per scan, ``{case}`` becomes the image and ``{out}``
an empty folder that it writes its marks to, in any format that ``evaluate`` reads.
"""

import os
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from nodulebench.core.errors import InputError

SLOWEST_S = 1800.0
"""A scan that takes longer counts as timed out."""


def check_command(template: str) -> None:
    """Refuse a command that does not say where the image and the marks go."""
    missing = [word for word in ("{case}", "{out}") if word not in template]
    if missing:
        raise InputError.at(
            f"command '{template}'",
            f"does not say where {' and '.join(missing)} goes.",
            "Write it like 'my_detector {case} {out}'.",
        )


def run_command(template: str, image: Path, out: Path, seconds: float = SLOWEST_S) -> None:
    """Let a program read an image.

    Raises:
        InputError: if it cannot be started, ends with an error, or does not end in time; then it
            is stopped with all that it started.
    """
    words = [
        word.replace("{case}", str(image)).replace("{out}", str(out))
        for word in shlex.split(template)
    ]
    where = f"command '{words[0]}'"
    try:
        process = subprocess.Popen(  # noqa: S603 - the user's own command
            words,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise InputError.at(where, f"cannot be started: {error.strerror}.") from error
    try:
        told, complained = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise InputError.at(
            where, f"did not end within {seconds:g} s.", "Give it a smaller scan."
        ) from error
    finally:
        _end(process)
    if process.returncode:
        last = (complained.strip() or told.strip() or "nothing").splitlines()[-1]
        raise InputError.at(where, f"ended with {process.returncode}; it said: {last}")


def _end(process: "subprocess.Popen[str]") -> None:
    """Stop a program that still runs, and what it started."""
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()
