"""Published test protocols, one TOML file each; a released one is never edited."""

from importlib.resources import files
from pathlib import Path

from nodulebench.core.errors import UnknownNameError, did_you_mean
from nodulebench.core.protocol import TestProtocol, parse_protocol, read_protocol

NAMES = ("luna16", "nifdc-2022", "fg-ai4h", "fg-ai4h-2", "fotin-2008")


def load_protocol(name_or_file: str) -> TestProtocol:
    """A published protocol by its name, or one's own from a TOML file."""
    if name_or_file in NAMES:
        return parse_protocol(_published(name_or_file), f"protocol {name_or_file}")
    if name_or_file.endswith(".toml") or Path(name_or_file).exists():
        return read_protocol(Path(name_or_file))
    hint = did_you_mean(name_or_file, NAMES)
    raise UnknownNameError(
        f"there is no protocol '{name_or_file}'.{hint} Published protocols: {', '.join(NAMES)}; "
        "or name a TOML file."
    )


def protocol_text(name_or_file: str) -> str:
    """The TOML text of a protocol that can be loaded."""
    load_protocol(name_or_file)
    if name_or_file in NAMES:
        return _published(name_or_file)
    return Path(name_or_file).read_text(encoding="utf-8")


def _published(name: str) -> str:
    return files(__name__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
