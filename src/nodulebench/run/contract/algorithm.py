"""A folder with ``algorithm.toml`` -> an algorithm that can be run, with its digest."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from nodulebench.errors import InputError
from nodulebench.formats.marks.submission_folder import MANIFEST, read_declaration
from nodulebench.model.algorithm import (
    AlgorithmManifest,
    RunContract,
    RunInput,
    RunProfile,
)
from nodulebench.run.contract.image import unpack_image
from nodulebench.run.isolation.sandbox import Mount
from nodulebench.storage.digest import bytes_digest, file_digest

PLACE = "/opt/algorithm"
"""Where a program finds its own folder."""
MODEL = "/opt/ml/model"
_CHEST_CT = {"slug": "chest-ct", "path": "images/chest-ct"}


@dataclass(frozen=True, slots=True)
class Algorithm:
    """What is run."""

    manifest: AlgorithmManifest
    run: RunContract
    digest: str
    """Of all its files."""
    mounts: tuple[Mount, ...] = ()
    command: tuple[str, ...] = ()
    """What is started; of an image it is known once that is unpacked."""
    folder: str = PLACE
    """Where its command is started, inside."""
    environment: tuple[tuple[str, str], ...] = ()
    archive: Path | None = None
    """The image that it is, where it is one."""
    root: Path | None = None
    """The unpacked image."""
    image_digest: str = ""
    weights: tuple[tuple[str, str], ...] = ()
    """Files of weights that were given to it, and their digests, which are part of its own."""

    @property
    def name(self) -> str:
        """As its manifest says."""
        return self.manifest.name


def read_algorithm(folder: Path) -> Algorithm:
    """The algorithm of a folder.

    Raises:
        InputError: if there is no manifest, it says nothing of how to run it, or names what is not
            there.
    """
    file = folder / MANIFEST
    if not file.is_file():
        raise InputError.at(
            folder, f"has no {MANIFEST}.", "Make a template with: nodulebench algorithm new"
        )
    manifest = read_declaration(file, str(file))
    run = manifest.run
    if run is None:
        raise InputError.at(
            file,
            "has no table [run], which says what is started.",
            "A template has one: nodulebench algorithm new",
        )
    archive = folder / run.image if run.image else None
    if archive is None:
        _refuse_missing_program(folder, run, file)
        refuse_unreadable(folder)
        mounts = [Mount(folder.resolve(), PLACE)]
    else:
        if not archive.is_file():
            raise InputError.at(f"{file} field 'run.image'", f"'{run.image}' is not there.")
        mounts = []
    if run.model:
        model = folder / run.model
        if not model.is_dir():
            raise InputError.at(f"{file} field 'run.model'", f"'{run.model}' is no folder there.")
        mounts.append(Mount(model.resolve(), MODEL))
    digest = file_digest(folder)
    return Algorithm(manifest, run, digest, tuple(mounts), run.command, archive=archive)


def read_archive(archive: Path, profile: RunProfile) -> Algorithm:
    """An image archive by itself, with the usual limits; whatever ``/output`` holds are its marks.

    Args:
        archive: docker save or an OCI layout.
        profile: the layout that it knows; on grand-challenge its input is a chest CT.
    """
    inputs = (RunInput.model_validate(_CHEST_CT),) if profile == "grand-challenge" else ()
    run = RunContract(image=archive.name, profile=profile, inputs=inputs)
    name = archive.name.partition(".")[0] or archive.name
    manifest = AlgorithmManifest(name=name, run=run)
    return Algorithm(manifest, run, file_digest(archive), archive=archive.resolve())


def unpacked(algorithm: Algorithm, folder: Path) -> Algorithm:
    """The algorithm as it is started: an image is unpacked into the folder, anything else is ready.

    Raises:
        InputError: if the archive is no image, or not the one that was declared.
    """
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


def _refuse_missing_program(folder: Path, run: RunContract, file: Path) -> None:
    program = run.command[0]
    where = f"{file} field 'run.command'"
    if "/" not in program:
        if shutil.which(program, path="/usr/local/bin:/usr/bin:/bin") is None:
            what = f"'{program}' is no program of this machine."
            raise InputError.at(where, what, f"For one of the folder write './{program}'.")
        return
    place = Path(program) if program.startswith("/") else folder / program
    if program.startswith("/") and not program.startswith("/usr/"):
        remedy = "Put it into the algorithm's folder, and name it from there."
        raise InputError.at(where, f"'{program}' would not be seen in the sandbox.", remedy)
    if not place.is_file():
        raise InputError.at(where, f"'{program}' is not there.")
    if not os.access(place, os.X_OK):
        raise InputError.at(where, f"'{program}' may not be executed.", f"chmod +x {place}")


def refuse_unreadable(folder: Path) -> None:
    """Where root runs it, the program is somebody else, who has to be able to read its files.

    Raises:
        InputError: if a file or folder may not be read by others.
    """
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return
    for path in (folder, *sorted(folder.rglob("*"))):
        wanted = 0o005 if path.is_dir() else 0o004
        if not path.is_symlink() and path.stat().st_mode & wanted != wanted:
            what = "may not be read by others, as whom the algorithm runs."
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
    """An algorithm that is a program of this installation.

    Args:
        name: of the algorithm.
        version: of the installation.
        command: what is started.
        folders: of the installation, which the program needs.
        environment: of the program.
        given: what the user gave to it: files and folders with weights.
        weights: the files among these, and their digests.
    """
    run = RunContract(command=command)
    manifest = AlgorithmManifest(name=name, version=version, developer="NoduleBench", run=run)
    told = [f"{name} of NoduleBench {version}", *(digest for _, digest in weights)]
    mounts = (*(Mount(folder, str(folder)) for folder in folders), *given)
    return Algorithm(
        manifest,
        run,
        bytes_digest("\n".join(told).encode()),
        mounts,
        command,
        "/tmp",  # noqa: S108
        tuple(environment.items()),
        weights=weights,
    )
