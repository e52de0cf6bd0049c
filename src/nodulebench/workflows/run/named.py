"""What a user calls an algorithm -> what is run: a folder, an archive, or detectors of ours."""

import os
import sys
from pathlib import Path

import nodulebench
from nodulebench.errors import InputError, UnknownNameError
from nodulebench.model.algorithm import RunProfile
from nodulebench.run.contract.algorithm import (
    Algorithm,
    command_algorithm,
    read_algorithm,
    read_archive,
)
from nodulebench.workflows.detect.system import read_system

PROGRAM = "nodulebench.workflows.detect.as_program"


def named_algorithm(given: str, profile: RunProfile | None = None) -> Algorithm:
    """The algorithm of a folder, an image archive, or built-in detectors (``a`` or ``a+b``).

    Args:
        given: where it lies, or what it is called.
        profile: the layout that an image archive knows; all others say it themselves.

    Raises:
        InputError: if it is none of these, or its manifest cannot be used.
    """
    folder = Path(given)
    if folder.is_file() and profile is not None:
        return read_archive(folder, profile)
    if profile is not None:
        raise InputError.at("--profile", "is for an image archive that is given by itself.")
    if folder.is_dir():
        return read_algorithm(folder)
    if folder.is_file():
        remedy = "Say which with --profile, or put it into a folder with an algorithm.toml."
        raise InputError.at(given, "is a file: of an image archive its layout is needed.", remedy)
    if "{" in given:
        raise InputError.at(
            f"'{given}'",
            "is a command, which `run` keeps apart from this machine.",
            "Put the program into a folder with an algorithm.toml: nodulebench algorithm new",
        )
    try:
        read_system(given)
    except UnknownNameError as error:
        raise InputError.at(
            given, f"is no folder with an algorithm.toml, and no detector: {error}"
        ) from error
    return built_in(given)


def built_in(names: str) -> Algorithm:
    """Detectors of ours as a program that is run like any other."""
    python = Path(sys.executable)
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(nodulebench.__file__).parent]
    seen = dict.fromkeys(one for one in (*folders, python.resolve().parent.parent))
    outside = [one for one in seen if not one.is_relative_to("/usr")]
    needed = [one for one in outside if not any(other in one.parents for other in outside)]
    words = (str(python), "-m", PROGRAM, names)
    environment = {
        "PYTHONPATH": str(Path(nodulebench.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: os.environ[name] for name in ("OPENBLAS_NUM_THREADS",) if name in os.environ},
    }
    return command_algorithm(names, nodulebench.__version__, words, tuple(needed), environment)
