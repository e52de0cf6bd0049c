"""Run a command with ``{case}`` and ``{out}`` on one image, within a time limit.

This tests any program: it is called once per scan. ``{case}`` becomes the image and ``{out}`` an
empty folder for its marks, in any format that ``evaluate`` reads.
"""

import os
import shlex
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.core.algorithm import InputFormat
from nodulebench.core.arrays import Columns, FloatArray
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.i18n.translator import in_english
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.volume import Volume
from nodulebench.io.formats import read_submission
from nodulebench.runner.algorithms import read_algorithm
from nodulebench.runner.case_input import write_image
from nodulebench.runner.cases import open_slot_worker
from nodulebench.runner.slot import Slot

SLOWEST_S = 1800.0
"""A scan that takes longer counts as timed out."""


def check_command(template: str) -> None:
    missing = [word for word in ("{case}", "{out}") if word not in template]
    if missing:
        what = f"lacks {' and '.join(missing)}."
        remedy = "Write it like 'my_detector {case} {out}'."
        raise InputError.at(f"command '{template}'", what, remedy)


def run_command(template: str, image: Path, out: Path, seconds: float = SLOWEST_S) -> None:
    """Run a program on an image; after the time limit it is stopped with all child processes."""
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
        output, complained = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise InputError.at(
            where, f"did not end within {seconds:g} s.", "Give it a smaller scan."
        ) from error
    finally:
        _end(process)
    if process.returncode:
        last = (complained.strip() or output.strip() or "nothing").splitlines()[-1]
        raise InputError.at(where, f"ended with {process.returncode}; its last line: {last}")


def _end(process: "subprocess.Popen[str]") -> None:
    if process.poll() is not None:
        return
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate()


@dataclass(frozen=True, eq=False)
class Marks(Columns):
    """An algorithm's marks of one scan."""

    center_mm: FloatArray
    """n x 3."""
    score: FloatArray


Algorithm = Callable[[Volume], Marks]
CASE_ID = "case"


@contextmanager
def open_algorithm(
    name_or_command: str, image_format: InputFormat = "metaimage", weights: Sequence[Path] = ()
) -> Iterator[Algorithm]:
    """Open built-in detectors by name (``a`` or ``a+b``), a folder, or any program by its command.

    A folder with an ``algorithm.toml`` is run in its sandbox, as ``run`` does, started once for all
    scans. ``weights`` are only for built-in detectors and networks.
    """
    is_ours = not Path(name_or_command).is_dir() and "{" not in name_or_command
    if weights and not is_ours:
        what = f"are for networks and classifiers of this package; '{name_or_command}' has its own."
        raise InputError.at("--weights", what, "Leave them out.")
    if Path(name_or_command).is_dir():
        chosen = read_algorithm(Path(name_or_command))
        with open_slot_worker(chosen, "auto") as worker:

            def run_at_slot(volume: Volume) -> Marks:
                run = worker.do(partial(Slot.read, volume=volume, name=CASE_ID))
                if run.state != "ok":
                    why = "" if run.why is None else f": {in_english(run.why)}"
                    raise InputError.at(chosen.name, f"{run.state}{why}.")
                return _places(run.marks)

            yield run_at_slot
    elif "{" in name_or_command:
        check_command(name_or_command)
        yield partial(_by_command, name_or_command, image_format)
    else:
        yield _detector(name_or_command, weights)


def _detector(name: str, weights: Sequence[Path]) -> Algorithm:
    from nodulebench.detection.scan import prepare_scan
    from nodulebench.detection.systems import candidates_in, read_system

    system = read_system(name, weights)

    def run(volume: Volume) -> Marks:
        candidates, _ = candidates_in(system, prepare_scan(volume), volume)
        return Marks(candidates.center_mm, candidates.score)

    return run


def _places(marks: pl.DataFrame) -> Marks:
    center = marks.select("x_mm", "y_mm", "z_mm").to_numpy().astype(np.float64)
    return Marks(center.reshape(-1, 3), marks["score"].to_numpy().astype(np.float64))


def _by_command(template: str, image_format: InputFormat, volume: Volume) -> Marks:
    with tempfile.TemporaryDirectory() as folder:
        image = write_image(volume, CASE_ID, Path(folder) / CASE_ID, image_format)
        out = Path(folder) / "out"
        out.mkdir()
        run_command(template, image, out)
        cases = CASES.conform(
            pl.DataFrame([{"case_id": CASE_ID, **geometry_columns(volume.geometry)}]), "case"
        )
        return _places(read_submission(out, cases).marks)
