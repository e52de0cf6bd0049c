"""The weights of the package: a network's name -> the folder that holds them, fold by fold."""

from importlib.resources import files
from pathlib import Path

from nodulebench.core.errors import InputError

_FOLDER = files("nodulebench.detection.networks") / "trained"


def networks_with_weights() -> list[str]:
    """The networks whose weights the package has."""
    return sorted(one.name for one in Path(str(_FOLDER)).iterdir() if one.is_dir())


def is_packaged(path: Path) -> bool:
    """Whether a file of weights is one of the package's."""
    return path.is_relative_to(Path(str(_FOLDER)))


def packaged_weights(name: str) -> Path:
    """Where the weights of a network are: a folder of files, one for each fold left out.

    Raises:
        InputError: if the package has none.
    """
    folder = Path(str(_FOLDER / name))
    if not folder.is_dir():
        raise InputError.at(
            f"network '{name}'",
            "has no weights in the package.",
            "Train it with `train`, and give its weights with --weights.",
        )
    return folder
