"""``dask://HOST:PORT`` and certificates -> where a scheduler is, and how it is spoken to."""

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from nodulebench.core.errors import InputError, Problem, refuse_any
from nodulebench.core.executor import EngineChoice

USUAL_PORT = 8786


@dataclass(frozen=True, slots=True)
class Certificates:
    """Of mutual TLS: whom we believe, and who we are."""

    ca: Path
    cert: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Address:
    """A scheduler, as Dask writes it, and what it is spoken to with."""

    text: str
    certificates: Certificates | None


def address_of(choice: EngineChoice) -> Address:
    """The scheduler that somebody names.

    Raises:
        InputError: if it is none, a certificate is not there, or another machine were spoken to
            without certificates: whoever reaches the port of a scheduler can run anything.
    """
    where = f"--engine {choice.name}"
    try:
        parts = urlsplit(choice.name)
        host, port = parts.hostname or "", parts.port or USUAL_PORT
    except ValueError:
        host, port = "", 0
    if not host or parts.path or parts.query:
        raise InputError.at(where, "names no scheduler.", "Write dask://HOST:PORT.")
    certificates = _certificates(choice)
    if certificates is None and not is_loopback(host):
        raise InputError.at(
            where,
            "is another machine, which is spoken to with certificates of both sides only.",
            "Give --tls-ca, --tls-cert and --tls-key, and start scheduler and workers with theirs.",
        )
    shown = f"[{host}]" if ":" in host else host
    protocol = "tcp" if certificates is None else "tls"
    return Address(f"{protocol}://{shown}:{port}", certificates)


def _certificates(choice: EngineChoice) -> Certificates | None:
    given = {"--tls-ca": choice.tls_ca, "--tls-cert": choice.tls_cert, "--tls-key": choice.tls_key}
    files = [path for path in given.values() if path is not None]
    if not files:
        return None
    refuse_any(
        Problem(name, "is missing." if path is None else f"{path} is no file.")
        for name, path in given.items()
        if path is None or not path.is_file()
    )
    return Certificates(*files)


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine, as far as its name says."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False
