"""Resolve what a user names as an algorithm: a folder, an image archive, or built-in detectors."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import nodulebench
from nodulebench.core.algorithm import RunProfile
from nodulebench.core.errors import InputError, UnknownNameError
from nodulebench.detection.systems import System, read_system, system_names
from nodulebench.detection.weights import WeightFile, given_weights, takes
from nodulebench.io.manifests import file_digest
from nodulebench.runner.contract.algorithm import (
    Algorithm,
    check_files,
    command_algorithm,
    read_algorithm,
    read_archive,
    require_readable,
)
from nodulebench.runner.isolation.sandbox import Mount

PROGRAM = "nodulebench.runner.builtin_program"
WEIGHTS = "/opt/weights"
"""Folder inside the sandbox that contains the given weights, by their number."""
_SAME_NUMBERS = (
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_CORETYPE",
    "OPENBLAS_NUM_THREADS",
)
"""Variables that change the last digits of scores; passed on so that they equal ``detect``'s."""


def named_algorithm(
    given: str, profile: RunProfile | None = None, weights: Sequence[Path] = ()
) -> Algorithm:
    """Return the algorithm of a folder, an image archive, or built-in detectors (``a`` or ``a+b``).

    Args:
        given: its path or name.
        profile: the layout of an image archive; all others state it themselves.
        weights: files, and folders of them, for built-in detectors and networks.

    Raises:
        InputError: if it is none of these, or its manifest cannot be used.
    """
    folder = Path(given)
    if weights and folder.exists():
        raise InputError.at(
            "--weights",
            f"are for networks and classifiers of this package; '{given}' has its own.",
            "Name their folder in its algorithm.toml, as run.model.",
        )
    if folder.is_file() and profile is not None:
        return read_archive(folder, profile)
    if profile is not None:
        raise InputError.at("--profile", "is only for an image archive without algorithm.toml.")
    if folder.is_dir():
        return read_algorithm(folder)
    if folder.is_file():
        remedy = "Give --profile, or put it into a folder with an algorithm.toml."
        raise InputError.at(given, "is a file: the layout of an image archive is needed.", remedy)
    if "{" in given:
        raise InputError.at(
            f"'{given}'",
            "is a command; `run` isolates algorithms from this machine.",
            "Put the program into a folder with an algorithm.toml: nodulebench algorithm new",
        )
    _check_weights(weights)
    try:
        system = read_system(given, weights)
    except UnknownNameError as error:
        raise InputError.at(
            given, f"is neither a folder with an algorithm.toml nor a detector: {error}"
        ) from error
    return built_in(given, system, weights)


def named_algorithms(given: Sequence[str], weights: Sequence[Path] = ()) -> list[Algorithm]:
    """Return several algorithms; each takes the weights of its own parts.

    Args:
        given: their paths or names.
        weights: files, and folders of them, for built-in detectors and networks.

    Raises:
        InputError: if one is not an algorithm, or a file of weights belongs to none of them.
    """
    _check_weights(weights)
    files = given_weights(weights)
    own = {name: [] if Path(name).exists() else _own_weights(name, files) for name in given}
    taken = {file for some in own.values() for file in some}
    for file in files:
        if file not in taken:
            raise InputError.at(
                file.path,
                f"is for {file.part}, which is not among the algorithms.",
                "Leave it out, or name it: a+b.",
            )
    return [named_algorithm(name, None, [file.path for file in own[name]]) for name in given]


def _check_weights(weights: Sequence[Path]) -> None:
    for path in weights:
        if os.path.lexists(path):  # a missing file is reported when it is read
            check_files(path)


def _own_weights(name: str, files: Sequence[WeightFile]) -> list[WeightFile]:
    return [file for file in files if takes(system_names(name), file)]


def built_in(names: str, system: System, weights: Sequence[Path] = ()) -> Algorithm:
    """Return built-in detectors and networks as a program that is run like any other.

    Args:
        names: the names that the user gave.
        system: the detectors and networks.
        weights: files, and folders of them, that the user gave.

    Raises:
        InputError: if the program could not read the weights.
    """
    python = Path(sys.executable)
    folders = [Path(sys.prefix), Path(sys.base_prefix), Path(nodulebench.__file__).parent]
    seen = dict.fromkeys(folder for folder in (*folders, python.resolve().parent.parent))
    outside = [folder for folder in seen if not folder.is_relative_to("/usr")]
    needed = [folder for folder in outside if not any(other in folder.parents for other in outside)]
    mounts = [
        Mount(
            path.resolve(),
            f"{WEIGHTS}/{number}" + ("" if path.is_dir() else f"/{path.name}"),
            below=path.parent.resolve(),
        )
        for number, path in enumerate(weights)
    ]
    for mount in mounts:
        require_readable(mount.source)
    words = (str(python), "-m", PROGRAM, names, *(mount.target for mount in mounts))
    environment = {
        "PYTHONPATH": str(Path(nodulebench.__file__).parent.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        **{name: os.environ[name] for name in _SAME_NUMBERS if name in os.environ},
    }
    return command_algorithm(
        system.name,
        nodulebench.__version__,
        words,
        tuple(needed),
        environment,
        tuple(mounts),
        tuple((_shown(path, file.path), file_digest(file.path)) for path, file in _files(weights)),
    )


def _files(weights: Sequence[Path]) -> list[tuple[Path, WeightFile]]:
    """Return each given path with each of its files."""
    return [(path, file) for path in weights for file in given_weights([path])]


def _shown(given: Path, file: Path) -> str:
    """Return the name of a weights file for the record, without the path of its folder."""
    return f"{given.absolute().name}/{file.name}" if given.is_dir() else file.name
