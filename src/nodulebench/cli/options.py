"""Building blocks of commands: types of values, shared options, closing lines."""

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from nodulebench.core.errors import InputError
from nodulebench.core.executor import ExecutorChoice
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.core.notices import Notice
    from nodulebench.security.vault import Secret


Command = TypeVar("Command", bound=Callable[..., Any])

FILE = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
WHOLE = click.IntRange(min=0)
SHARE = click.FloatRange(0, 1)
POSITIVE = click.FloatRange(min=0, min_open=True)
NOT_NEGATIVE = click.FloatRange(min=0)


nodules_option = click.option(
    "--nodules", type=FILE, help="Table of further facts about nodules, by id or position."
)


weights_option = click.option(
    "--weights",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    help="Weights of networks, and classifiers of detectors: a file, or a folder.",
)


def option(
    name: str, kind: Any, default: Any, words: str = "", *, to: str = "", **more: Any
) -> Callable[[Command], Command]:
    """An option with a default, which its help shows unless it is empty.

    Args:
        name: the option with its dashes; for a flag both forms.
        kind: the type of its values, or the list of choices.
        default: the default value.
        words: the help text.
        to: the parameter of the command; empty: the option's name.
        more: further arguments of ``click.option``.
    """
    shows = {"show_default": default != "", **more}
    of_kind = click.Choice(kind) if isinstance(kind, list) else kind
    names = (name, to) if to else (name,)
    return click.option(*names, type=of_kind, default=default, help=words, **shows)


def print_written(*paths: Path | None) -> None:
    for path in paths:
        if path is not None:
            click.echo(f"wrote {path}")


def print_next(*commands: str) -> None:
    """Print the commands that may come next."""
    for number, command in enumerate(commands):
        click.echo(f"{'or  ' if number else 'next'}  {command}")


def print_notices(word: str, notices: "Iterable[Notice]") -> None:
    """Print notices, one line each, beginning with a word such as 'warning'."""
    for notice in notices:
        click.echo(f"{word}: {in_english(notice)}", err=True)


_OPTIONS = (
    option(
        "--port",
        click.IntRange(0, 65535),
        0,
        "Port on this machine only; 0: the last one, or any free port.",
    ),
    option("--language", ["en", "zh"], "en", "Language of the page."),
    click.option("--browser/--no-browser", default=True, help="Open the page at once."),
)


def page_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a page: port, language, and whether a browser opens it."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def address_shown(last: str, *, opens: bool) -> Callable[[str], None]:
    """A function that prints the address of a page and how to stop, and opens it if wanted."""

    def opened(address: str) -> None:
        click.echo(f"open {address}")
        click.echo(last)
        if opens:
            import webbrowser

            webbrowser.open(address)

    return opened


EXECUTORS = "local|dask|dask://HOST:PORT|slurm"


def executor_options(
    usual: str, words: str = "Tasks at the same time.", *, before: str = ""
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of an executor; the command gets them as ``executor``.

    Args:
        usual: the default number of workers.
        words: what a worker does.
        before: an older name of ``--workers`` that is still accepted.
    """

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_executor(
            executor: str,
            workers: int | None,
            tls_ca: Path | None,
            tls_cert: Path | None,
            tls_key: Path | None,
            earlier: int | None = None,
            **given: Any,
        ) -> Any:
            choice = ExecutorChoice(executor, workers or earlier, tls_ca, tls_cert, tls_key)
            return command(**given, executor=choice)

        options = [
            click.option(
                "--executor",
                metavar=EXECUTORS,
                default="local",
                show_default=True,
                help="Where to compute: this machine, a Dask cluster, or Slurm jobs.",
            ),
            click.option("--workers", type=COUNT, help=f"{words}  [default: {usual}]"),
            click.option("--tls-ca", type=FILE, help="Of a cluster: certificate authority."),
            click.option("--tls-cert", type=FILE, help="Of a cluster: your certificate."),
            click.option("--tls-key", type=FILE, help="Of a cluster: its key."),
        ]
        if before:
            options.append(click.option(before, "earlier", type=COUNT, hidden=True))
        made: Callable[..., Any] = with_executor
        for option in reversed(options):
            made = option(made)
        return made

    return add


KEY_VARIABLE = "NODULEBENCH_KEY"


@dataclass(frozen=True, slots=True)
class Opening:
    """How a person opens a sealed set, and the person's stated name."""

    key: Path | None
    key_passphrase_file: Path | None
    vault_key: Path | None
    passphrase_file: Path | None
    person: str

    @property
    def is_named(self) -> bool:
        """Whether the person is known by a personal key or a name."""
        return bool(self.person) or self.key is not None

    def secret(self) -> "Secret | None":
        """The given secret; only the passphrase of a key is asked for.

        Raises:
            InputError: if a file cannot be used.
        """
        shared = secret_from(self.vault_key, self.passphrase_file)
        if shared is not None or self.key is None:
            return shared
        return key_secret(self.key, self.key_passphrase_file)

    def required(self) -> "Secret":
        """The given secret; without one it is asked for on a terminal."""
        if self.key is not None and self.vault_key is None and self.passphrase_file is None:
            return key_secret(self.key, self.key_passphrase_file)
        return required_secret(self.vault_key, self.passphrase_file)


def secret_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that open a sealed set; the command gets them as ``opening``."""

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
        "Your private OpenSSH key: opens a sealed set, and identifies you.",
    )


def opening_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that open a sealed set, and --as for the person's name."""
    words = "Your name in the policy of a sealed set; not needed with a personal key."
    return click.option("--as", "person", help=words)(secret_options(command))


def key_options(command: Command, words: str) -> Command:
    """Add --key and --key-passphrase-file."""
    command = click.option(
        "--key-passphrase-file", type=FILE, help="File whose first line opens that key."
    )(command)
    return click.option("--key", type=FILE, envvar=KEY_VARIABLE, help=words)(command)


def vault_options(command: Command) -> Command:
    """Add --vault-key and --passphrase-file; a secret is never an argument itself."""
    command = click.option("--vault-key", type=FILE, help="Key file that opens the vault.")(command)
    return click.option(
        "--passphrase-file", type=FILE, help="File whose first line opens the vault."
    )(command)


def key_secret(key: Path, passphrase_file: Path | None) -> "Secret":
    """A person's own key as a secret; its passphrase is asked for on a terminal.

    Raises:
        InputError: if the key cannot be used.
    """
    from nodulebench.security.keys import read_private_key
    from nodulebench.security.vault import person_secret

    return person_secret(read_private_key(key, signing_passphrase(key, passphrase_file)))


def secret_from(vault_key: Path | None, passphrase_file: Path | None) -> "Secret | None":
    """The given secret, or None; nothing is asked for on a terminal.

    Raises:
        InputError: if a file cannot be used.
    """
    from nodulebench.security.vault import passphrase_secret, read_key_file

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
    """The given secret; without one it is asked for on a terminal."""
    from nodulebench.security.vault import passphrase_secret

    secret = secret_from(vault_key, passphrase_file)
    if secret is not None:
        return secret
    if not sys.stdin.isatty():
        raise click.UsageError("give --key, or --vault-key or --passphrase-file")
    asked = click.prompt("Passphrase of the vault", hide_input=True, confirmation_prompt=is_new)
    return passphrase_secret(asked)


def signing_passphrase(key: Path | None, passphrase_file: Path | None) -> str:
    """The passphrase of a signing key: from a file, or asked for on a terminal."""
    from nodulebench.security.signatures import is_encrypted

    if passphrase_file is not None:
        return first_line(passphrase_file)
    if key is None or not sys.stdin.isatty() or not is_encrypted(key):
        return ""
    return str(click.prompt(f"Passphrase of {key}", hide_input=True))


def first_line(path: Path) -> str:
    """The first line of a file that holds a passphrase.

    Raises:
        InputError: if the file has no passphrase.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(str(path), f"cannot be read as text: {error}.") from error
    if not lines or not lines[0]:
        raise InputError.at(str(path), "has no passphrase in its first line.")
    return lines[0]
