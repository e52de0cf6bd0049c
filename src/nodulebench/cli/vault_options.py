"""Options that several commands share: how a vault is opened, and who opens it."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodulebench.cli.options import FILE
from nodulebench.core.errors import InputError

if TYPE_CHECKING:
    from nodulebench.custody.custody_keys import Secret

KEY_VARIABLE = "NODULEBENCH_KEY"
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Opening:
    """How somebody opens a sealed set, and who they say they are."""

    key: Path | None
    key_passphrase_file: Path | None
    vault_key: Path | None
    passphrase_file: Path | None
    person: str

    @property
    def is_named(self) -> bool:
        """Whether it is said who acts: by a key of their own, or by a name."""
        return bool(self.person) or self.key is not None

    def secret(self) -> "Secret | None":
        """The secret that was given; nothing is asked for but the passphrase of a key.

        Raises:
            InputError: if a file cannot be used.
        """
        shared = secret_from(self.vault_key, self.passphrase_file)
        if shared is not None or self.key is None:
            return shared
        return key_secret(self.key, self.key_passphrase_file)

    def required(self) -> "Secret":
        """The secret that was given, or else is asked for on a terminal."""
        if self.key is not None and self.vault_key is None and self.passphrase_file is None:
            return key_secret(self.key, self.key_passphrase_file)
        return required_secret(self.vault_key, self.passphrase_file)


def secret_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options by which a sealed set is opened; the command gets them as ``opening``."""

    @wraps(command)
    def with_opening(
        key: Path | None,
        key_passphrase_file: Path | None,
        vault_key: Path | None,
        passphrase_file: Path | None,
        person: str | None = None,
        **given: Any,
    ) -> Any:
        opening = Opening(key, key_passphrase_file, vault_key, passphrase_file, person or "")
        return command(**given, opening=opening)

    return key_options(
        vault_options(with_opening),
        "Your own private OpenSSH key: opens a sealed set, and says who you are.",
    )


def opening_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options by which somebody opens a sealed set, and says who they are."""
    words = "Who you are in the policy of a sealed set; a key of your own says it already."
    return click.option("--as", "person", help=words)(secret_options(command))


def key_options(command: Command, words: str) -> Command:
    """Add --key and --key-passphrase-file."""
    command = click.option(
        "--key-passphrase-file", type=FILE, help="File whose first line opens that key."
    )(command)
    return click.option("--key", type=FILE, envvar=KEY_VARIABLE, help=words)(command)


def vault_options(command: Command) -> Command:
    """Add --vault-key and --passphrase-file; a secret is never given as an argument."""
    command = click.option("--vault-key", type=FILE, help="Key file that opens the vault.")(command)
    return click.option(
        "--passphrase-file", type=FILE, help="File whose first line opens the vault."
    )(command)


def key_secret(key: Path, passphrase_file: Path | None) -> "Secret":
    """A person's own key as a secret; its passphrase is asked for on a terminal.

    Raises:
        InputError: if the key cannot be used.
    """
    from nodulebench.custody.custody_keys import person_secret, read_private_key

    return person_secret(read_private_key(key, signing_passphrase(key, passphrase_file)))


def secret_from(vault_key: Path | None, passphrase_file: Path | None) -> "Secret | None":
    """The secret that was given; on a terminal nothing is asked for.

    Raises:
        InputError: if a file cannot be used.
    """
    from nodulebench.custody.custody_keys import passphrase_secret, read_key_file

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
    from nodulebench.custody.custody_keys import passphrase_secret

    secret = secret_from(vault_key, passphrase_file)
    if secret is not None:
        return secret
    if not sys.stdin.isatty():
        raise click.UsageError("give --key, or --vault-key or --passphrase-file")
    asked = click.prompt("Passphrase of the vault", hide_input=True, confirmation_prompt=is_new)
    return passphrase_secret(asked)


def signing_passphrase(key: Path | None, passphrase_file: Path | None) -> str:
    """The passphrase of a signing key: from a file, or else asked for on a terminal."""
    from nodulebench.custody.custody_keys import is_encrypted

    if passphrase_file is not None:
        return first_line(passphrase_file)
    if key is None or not sys.stdin.isatty() or not is_encrypted(key):
        return ""
    return str(click.prompt(f"Passphrase of {key}", hide_input=True))


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
