"""The names of built-in detectors, or a command -> a function from a CT volume to marks."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from nodulebench.errors import InputError
from nodulebench.formats import read_submission
from nodulebench.imaging.geometry import geometry_columns
from nodulebench.imaging.volume import Volume
from nodulebench.language import english
from nodulebench.model.algorithm import InputFormat
from nodulebench.model.tables import CASES
from nodulebench.robustness.relations import Marks
from nodulebench.run.command import check_command, run_command
from nodulebench.run.contract.algorithm import read_algorithm, unpacked
from nodulebench.run.contract.case_folder import write_image
from nodulebench.run.isolation.choose import choose_isolation
from nodulebench.run.isolation.scratch import in_own_thread, scratch_folder
from nodulebench.run.slot import CaseRun, open_slot

Algorithm = Callable[[Volume], Marks]
CASE_ID = "case"


def find_algorithm(name_or_command: str, image_format: InputFormat = "metaimage") -> Algorithm:
    """Built-in detectors by name (``a`` or ``a+b``), a folder, or any program by its command.

    A folder with an ``algorithm.toml`` is run in its sandbox, as ``run`` does.

    Raises:
        UnknownNameError: if it is no folder, no command with {case} and {out} and no detector.
        InputError: if the folder holds no algorithm that can be run.
    """
    if Path(name_or_command).is_dir():
        return _folder(Path(name_or_command))
    if "{" in name_or_command:
        return _command(name_or_command, image_format)
    from nodulebench.algorithms.chest import see_chest
    from nodulebench.workflows.detect.system import candidates_in, read_system

    system = read_system(name_or_command)

    def run(volume: Volume) -> Marks:
        candidates, _ = candidates_in(system, see_chest(volume), volume)
        return Marks(candidates.center_mm, candidates.score)

    return run


def _folder(folder: Path) -> Algorithm:
    chosen = read_algorithm(folder)
    with scratch_folder() as place:
        isolation, _ = choose_isolation("auto", place)

    def run(volume: Volume) -> Marks:
        with scratch_folder() as place:
            whole = unpacked(chosen, place)

            def read() -> CaseRun:
                with open_slot(whole, isolation, place / "slot") as slot:
                    return slot.read(volume, CASE_ID)

            found = in_own_thread(read)
        if found.state != "ok":
            why = "" if found.why is None else f": {english(found.why)}"
            raise InputError.at(chosen.name, f"{found.state}{why}.")
        return _places(found.marks)

    return run


def _places(marks: pl.DataFrame) -> Marks:
    center = marks.select("x_mm", "y_mm", "z_mm").to_numpy().astype(np.float64)
    return Marks(center.reshape(-1, 3), marks["score"].to_numpy().astype(np.float64))


def _command(template: str, image_format: InputFormat) -> Algorithm:
    check_command(template)

    def run(volume: Volume) -> Marks:
        with tempfile.TemporaryDirectory() as folder:
            image = write_image(volume, CASE_ID, Path(folder) / CASE_ID, image_format)
            out = Path(folder) / "out"
            out.mkdir()
            run_command(template, image, out)
            cases = CASES.conform(
                pl.DataFrame([{"case_id": CASE_ID, **geometry_columns(volume.geometry)}]), "case"
            )
            return _places(read_submission(out, cases).marks)

    return run
