"""Options that several commands share: how a vault is opened, and who opens it."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodulebench.cli.options import FILE
from nodulebench.errors import InputError

if TYPE_CHECKING:
    from nodulebench.workflows.custody.keys import Secret

Command = TypeVar("Command", bound=Callable[..., Any])


def vault_options(command: Command) -> Command:
    """Add --vault-key and --passphrase-file; a secret is never given as an argument."""
    command = click.option("--vault-key", type=FILE, help="Key file that opens the vault.")(command)
    return click.option(
        "--passphrase-file", type=FILE, help="File whose first line opens the vault."
    )(command)


def person_option(command: Command) -> Command:
    """Add --as: who acts, by the name that the policy knows."""
    return click.option("--as", "person", required=True, help="Who you are in the policy.")(command)


def secret_from(vault_key: Path | None, passphrase_file: Path | None) -> "Secret | None":
    """The secret that was given; on a terminal nothing is asked for.

    Raises:
        InputError: if a file cannot be used.
    """
    from nodulebench.workflows.custody.keys import passphrase_secret, read_key_file

    if vault_key is not None and passphrase_file is not None:
        raise click.UsageError("give --vault-key or --passphrase-file, not both")
    if vault_key is not None:
        return read_key_file(vault_key)
    if passphrase_file is not None:
        return passphrase_secret(first_line(passphrase_file))
    return None


def required_secret(
    vault_key: Path | None, passphrase_file: Path | None, *, is_new: bool = False
) -> "Secret":
    """The secret that was given, or else is asked for on a terminal."""
    from nodulebench.workflows.custody.keys import passphrase_secret

    secret = secret_from(vault_key, passphrase_file)
    if secret is not None:
        return secret
    if not sys.stdin.isatty():
        raise click.UsageError("give --vault-key or --passphrase-file")
    asked = click.prompt("Passphrase of the vault", hide_input=True, confirmation_prompt=is_new)
    return passphrase_secret(asked)


def signing_passphrase(key: Path | None, passphrase_file: Path | None) -> str:
    """The passphrase of a signing key: from a file, or else asked for on a terminal."""
    from nodulebench.workflows.custody.keys import is_encrypted

    if passphrase_file is not None:
        return first_line(passphrase_file)
    if key is None or not sys.stdin.isatty() or not is_encrypted(key):
        return ""
    return str(click.prompt("Passphrase of the signing key", hide_input=True))


def first_line(path: Path) -> str:
    """The first line of a file that holds a passphrase.

    Raises:
        InputError: if there is none.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(str(path), f"cannot be read as text: {error}.") from error
    if not lines or not lines[0]:
        raise InputError.at(str(path), "has no passphrase in its first line.")
    return lines[0]
