"""Read an algorithm: a folder with ``algorithm.toml``, an image archive, or built-in detectors."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import nodulebench
from nodulebench.core.algorithm import AlgorithmManifest, RunContract, RunInput, RunProfile
from nodulebench.core.errors import InputError, Problem, UnknownNameError, raise_problems
from nodulebench.core.text import in_a_line
from nodulebench.detection.systems import System, read_system, system_names
from nodulebench.detection.weights import WeightFile, given_weights, takes
from nodulebench.io.manifests import bytes_digest, file_digest, folder_digest, paths_in
from nodulebench.io.marks.submission_folder import MANIFEST, read_declaration
from nodulebench.runner.image_archive import unpack_image
from nodulebench.runner.isolation.sandbox import Mount

PLACE = "/opt/algorithm"
"""Path of the algorithm's own folder inside the sandbox."""
MODEL = "/opt/ml/model"
_CHEST_CT = {"slug": "chest-ct", "path": "images/chest-ct"}


@dataclass(frozen=True, slots=True)
class Algorithm:
    """An algorithm that can be run."""

    manifest: AlgorithmManifest
    run: RunContract
    digest: str
    mounts: tuple[Mount, ...] = ()
    command: tuple[str, ...] = ()
    """The command to start; for an image, known after unpacking."""
    folder: str = PLACE
    """Working folder of the command, inside."""
    environment: tuple[tuple[str, str], ...] = ()
    archive: Path | None = None
    """The image archive, if the algorithm is one."""
    root: Path | None = None
    image_digest: str = ""
    weights: tuple[tuple[str, str], ...] = ()
    """Given files of weights, and their digests, which are part of the algorithm's digest."""

    @property
    def name(self) -> str:
        return self.manifest.name


def read_algorithm(folder: Path) -> Algorithm:
    """Read the algorithm of a folder; links out of it and special files are refused."""
    file = folder / MANIFEST
    if not os.path.lexists(file):
        raise InputError.at(
            folder, f"has no {MANIFEST}.", "Make a template with: nodulebench algorithm new"
        )
    check_files(folder)
    manifest = read_declaration(_path_in(folder, MANIFEST, str(file)), str(file))
    run = manifest.run
    if run is None:
        remedy = "Make a template with: nodulebench algorithm new"
        raise InputError.at(file, "has no table [run] with the command to start.", remedy)
    root = folder.resolve()
    archive, mounts = None, []
    if run.image:
        archive = _path_in(root, run.image, where := f"{file} field 'run.image'")
        if not archive.is_file():
            raise InputError.at(where, f"'{run.image}' does not exist.")
    else:
        _require_program(folder, run, file)
        require_readable(folder)
        mounts.append(Mount(root, PLACE, below=root.parent))
    if run.model:
        model = _path_in(root, run.model, where := f"{file} field 'run.model'")
        if not model.is_dir():
            what = f"'{run.model}' is not a folder of the algorithm."
            raise InputError.at(where, what, "Name the folder with its model, or leave it out.")
        mounts.append(Mount(model, MODEL, below=root.parent))
    digest = folder_digest(folder)
    return Algorithm(manifest, run, digest, tuple(mounts), run.command, archive=archive)


def read_archive(archive: Path, profile: RunProfile) -> Algorithm:
    """Read an image archive (docker save, or an OCI layout) without a manifest, with usual limits.

    ``/output`` has its marks; on grand-challenge its input is a chest CT.
    """
    check_files(archive)
    inputs = (RunInput.model_validate(_CHEST_CT),) if profile == "grand-challenge" else ()
    run = RunContract(image=archive.name, profile=profile, inputs=inputs)
    name = archive.name.partition(".")[0] or archive.name
    manifest = AlgorithmManifest(name=name, run=run)
    return Algorithm(manifest, run, file_digest(archive), archive=archive.resolve())


def unpacked(algorithm: Algorithm, folder: Path) -> Algorithm:
    """Return the algorithm ready to start: an image is unpacked into the folder."""
    if algorithm.archive is None:
        return algorithm
    root = folder / "root"
    image = unpack_image(algorithm.archive, root, algorithm.run.digest)
    return replace(
        algorithm,
        command=image.command,
        folder=image.folder,
        environment=tuple(image.environment.items()),
        root=root,
        image_digest=image.digest,
    )


def _require_program(folder: Path, run: RunContract, file: Path) -> None:
    program = run.command[0]
    where = f"{file} field 'run.command'"
    if any("\0" in word for word in run.command):
        raise InputError.at(where, "contains a null character.", "Remove it.")
    if ".." in PurePosixPath(program).parts:
        raise InputError.at(where, f"'{program}' must not have '..'.", "Write its plain path.")
    if "/" not in program:
        if shutil.which(program, path="/usr/local/bin:/usr/bin:/bin") is None:
            what = f"'{program}' is not a program on this machine."
            raise InputError.at(where, what, f"For a program in the folder write './{program}'.")
        return
    if program.startswith("/") and not program.startswith("/usr/"):
        remedy = "Put it into the algorithm's folder, and give its path from there."
        raise InputError.at(where, f"'{program}' is not visible in the sandbox.", remedy)
    place = Path(program) if program.startswith("/") else _path_in(folder, program, where)
    if not place.is_file():
        raise InputError.at(where, f"'{program}' does not exist.")
    if not os.access(place, os.X_OK):
        raise InputError.at(where, f"'{program}' may not be executed.", f"chmod +x {place}")


def check_files(given: Path) -> None:
    """Refuse an algorithm or weights with links to other folders or with special files.

    Links inside the folder are accepted: programs follow them in the sandbox, we never do.
    """
    if given.is_symlink():
        raise InputError.at(given, "is a link.", "Give the path of its target.")
    try:
        paths = [given, *(paths_in(given) if given.is_dir() else ())]
        raise_problems(problem for path in paths for problem in _problems_of(path, given))
    except OSError as error:
        raise InputError.at(given, f"cannot be read: {error}.", "Check its permissions.") from error


def _problems_of(path: Path, folder: Path) -> Iterator[Problem]:
    where, mode = in_a_line(str(path)), path.lstat().st_mode
    if path != folder and "\n" in path.name:  # the digest has a line for each name
        yield Problem(where, "has a line break in its name.", "Rename it.")
    if stat.S_ISLNK(mode):
        target = os.readlink(path)  # noqa: PTH115 - as it stands
        way = os.path.normpath(path.parent.relative_to(folder) / target)
        is_inside = Path(os.path.realpath(path)).is_relative_to(folder.resolve())
        if target.startswith("/") or way.split("/")[0] == ".." or not is_inside:
            what = f"is a link to '{in_a_line(target)}', which leaves the folder."
            yield Problem(where, what, "Replace it by a copy of its target.")
    elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        pipes = {stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}
        kind = pipes.get(stat.S_IFMT(mode), "device")
        yield Problem(where, f"is a {kind}, not a file or folder.", "Remove it.")


def _path_in(folder: Path, name: str, where: str) -> Path:
    """Return the path of a file or folder in a manifest; whether it exists is not checked."""
    path = folder
    for part in PurePosixPath(name).parts:
        path /= part
        if path.is_symlink():
            what = f"'{name}' is a link or behind one."
            raise InputError.at(where, what, "Put the file or folder itself there.")
    return path


def require_readable(folder: Path) -> None:
    """Require files that others may read: started by root, the program runs as another user."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    for path in (folder, *(paths_in(folder) if folder.is_dir() else ())):
        wanted = 0o005 if path.is_dir() else 0o004
        if not path.is_symlink() and path.stat().st_mode & wanted != wanted:
            what = "is not readable by others, and the algorithm runs as another user."
            raise InputError.at(path, what, f"chmod -R o+rX {folder}")


def command_algorithm(
    name: str,
    version: str,
    command: tuple[str, ...],
    folders: tuple[Path, ...],
    environment: dict[str, str],
    given: tuple[Mount, ...] = (),
    weights: tuple[tuple[str, str], ...] = (),
) -> Algorithm:
    run = RunContract(command=command)
    manifest = AlgorithmManifest(name=name, version=version, developer="NoduleBench", run=run)
    identity = [f"{name} of NoduleBench {version}", *(digest for _, digest in weights)]
    mounts = (*(Mount(folder, str(folder)) for folder in folders), *given)
    return Algorithm(
        manifest,
        run,
        bytes_digest("\n".join(identity).encode()),
        mounts,
        command,
        "/tmp",  # noqa: S108
        tuple(environment.items()),
        weights=weights,
    )


PROGRAM = "nodulebench.runner.builtin_program"
WEIGHTS = "/opt/weights"
"""Folder inside the sandbox that contains the given weights, by their number."""
_SAME_NUMBERS = ("MKL_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS")
"""Variables that change the last digits of scores; passed on so that they equal ``detect``'s."""


def named_algorithm(
    given: str, profile: RunProfile | None = None, weights: Sequence[Path] = ()
) -> Algorithm:
    """Return the algorithm of a folder, an image archive, or built-in detectors (``a`` or ``a+b``).

    ``profile`` is the layout of an image archive; all others state it themselves.
    """
    folder = Path(given)
    if weights and folder.exists():
        what = f"are for networks and classifiers of this package; '{given}' has its own."
        remedy = "Name their folder in its algorithm.toml, as run.model."
        raise InputError.at("--weights", what, remedy)
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
        what = "is a command; `run` isolates algorithms from this machine."
        remedy = "Put the program into a folder with an algorithm.toml: nodulebench algorithm new"
        raise InputError.at(f"'{given}'", what, remedy)
    _check_weights(weights)
    try:
        system = read_system(given, weights)
    except UnknownNameError as error:
        raise InputError.at(
            given, f"is neither a folder with an algorithm.toml nor a detector: {error}"
        ) from error
    return built_in(given, system, weights)


def named_algorithms(given: Sequence[str], weights: Sequence[Path] = ()) -> list[Algorithm]:
    """Return several algorithms; each takes the weights of its own parts."""
    _check_weights(weights)
    files = given_weights(weights)
    own: dict[str, list[WeightFile]] = {
        name: [file for file in files if takes(system_names(name), file)]
        if not Path(name).exists()
        else []
        for name in given
    }
    taken = {file for some in own.values() for file in some}
    for file in files:
        if file not in taken:
            what = f"is for {file.part}, which is not among the algorithms."
            raise InputError.at(file.path, what, "Leave it out, or name it: a+b.")
    return [named_algorithm(name, None, [file.path for file in own[name]]) for name in given]


def _check_weights(weights: Sequence[Path]) -> None:
    for path in weights:
        if os.path.lexists(path):  # a missing file is reported when it is read
            check_files(path)


def built_in(names: str, system: System, weights: Sequence[Path] = ()) -> Algorithm:
    """Return built-in detectors and networks as a program that is run like any other."""
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
        tuple(
            (
                # without the path of its folder
                f"{path.absolute().name}/{file.path.name}" if path.is_dir() else file.path.name,
                file_digest(file.path),
            )
            for path in weights
            for file in given_weights([path])
        ),
    )
