"""Building blocks of commands: types of values, shared options, closing lines."""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from nodulebench.cli.terminal import print_done
from nodulebench.core.errors import InputError
from nodulebench.core.executor import ExecutorChoice
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from nodulebench.core.notices import Notice
    from nodulebench.security.keys import PrivateKey


Command = TypeVar("Command", bound=Callable[..., object])

Run = Callable[..., object]


def _path(wanted: str, *, exists: bool = False, **more: bool) -> "click.Path[Path]":
    """A path; the help shows what is wanted, such as FILE."""
    kind = click.Path(path_type=Path, exists=exists, **more)
    kind.name = wanted
    return kind


FILE, FOLDER, PATH, KEY = map(_path, ("file", "folder", "path", "key"))
EXISTING, NEW_FOLDER = _path("path", exists=True), _path("folder", file_okay=False)
EXISTING_FOLDER = _path("folder", exists=True, file_okay=False)
COUNT = click.IntRange(min=1)
WHOLE = click.IntRange(min=0)
SHARE = click.FloatRange(0, 1)
POSITIVE = click.FloatRange(min=0, min_open=True)
NOT_NEGATIVE = click.FloatRange(min=0)


reference_option = click.option(
    "--reference", required=True, type=PATH, help="Test set: bundle, LUNA16 folder or NIFDC CSV."
)
series_option = click.option("--series", type=FILE, help="List of cases to use, in this order.")
cases_option = click.option(
    "--cases", type=PATH, help="Table of cases (geometry, patients, strata) or CT folder."
)
columns_option = click.option(
    "--columns", help="Names of your columns: case=...,x=...,y=...,z=...,score=... or a TOML file."
)
checkpoints_option = click.option(
    "--checkpoint",
    "checkpoints",
    type=FILE,
    multiple=True,
    help="Require this checkpoint in the log; may be repeated.",
)
reader_table_option = click.option(
    "--reader-table",
    "readers",
    type=FILE,
    help="Table of the readers of a result: algorithm, treatment, reader_id.",
)
nodules_option = click.option(
    "--nodules", type=FILE, help="Table of extra nodule attributes, by ID or position."
)


weights_option = click.option(
    "--weights",
    multiple=True,
    type=EXISTING,
    help="File or folder with trained weights; may be repeated.",
)


def option(
    name: str, kind: object, default: object, words: str = "", *, to: str = "", **more: object
) -> Callable[[Command], Command]:
    """An option with a default, which its help shows unless it is empty.

    ``kind`` is the type of its values or the list of choices, ``to`` the parameter if it is not
    named like the option.
    """
    shows = {"show_default": default != "", **more}
    of_kind = click.Choice(kind) if isinstance(kind, list) else kind
    names = (name, to) if to else (name,)
    made: Callable[..., Callable[[Command], Command]] = click.option
    return made(*names, type=of_kind, default=default, help=words, **shows)


Made = TypeVar("Made")


def call_with(
    made: Callable[..., Made], parameters: Mapping[str, object], /, *first: object, **more: object
) -> Made:
    """Make options, or call a function, with parameters of a command that have the same names."""
    return made(*first, **parameters, **more)


def print_written(*paths: Path | None) -> None:
    for path in paths:
        if path is not None:
            print_done(f"wrote {path}")


def print_next(*commands: str) -> None:
    """Print the commands that may come next."""
    for number, command in enumerate(commands):
        print_done(f"{'or  ' if number else 'next'}  {command}")


def print_notices(word: str, notices: "Iterable[Notice]") -> None:
    """Print notices, one line each, beginning with a word such as 'warning'."""
    for notice in notices:
        click.echo(f"{word}: {in_english(notice)}", err=True)


_OPTIONS = (
    option(
        "--port", click.IntRange(0, 65535), 0, "Local port; 0 uses the last port, or any free one."
    ),
    option("--language", ["en", "zh"], "en", "Language of the page or report."),
    click.option("--browser/--no-browser", default=True, help="Open the page in a browser."),
)


def page_options(command: Run) -> Run:
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
    usual: str, words: str = "Number of parallel processes."
) -> Callable[[Run], Run]:
    """Add the options of an executor; the command gets them as ``executor``.

    ``usual`` is the default number of workers.
    """

    def add(command: Run) -> Run:
        @wraps(command)
        def with_executor(
            executor: str,
            workers: int | None,
            tls_ca: Path | None,
            tls_cert: Path | None,
            tls_key: Path | None,
            **given: object,
        ) -> object:
            choice = ExecutorChoice(executor, workers, tls_ca, tls_cert, tls_key)
            return command(**given, executor=choice)

        options = [
            click.option(
                "--executor",
                metavar=EXECUTORS,
                default="local",
                show_default=True,
                help="Where to run: this machine, a Dask cluster or Slurm.",
            ),
            click.option("--workers", type=COUNT, help=f"{words}  [default: {usual}]"),
            click.option("--tls-ca", type=FILE, help="Cluster: CA certificate."),
            click.option("--tls-cert", type=FILE, help="Cluster: your certificate."),
            click.option("--tls-key", type=KEY, help="Cluster: the key of your certificate."),
        ]
        made: Callable[..., object] = with_executor
        for option in reversed(options):
            made = option(made)
        return made

    return add


KEY_VARIABLE = "NODULEBENCH_KEY"
OPENS_KEY = "File with the key's passphrase in its first line."


@dataclass(frozen=True, slots=True)
class OwnKey:
    """The file of a person's own key, which opens what is encrypted for that person."""

    path: Path | None
    passphrase_file: Path | None

    @property
    def is_given(self) -> bool:
        return self.path is not None

    def read(self) -> "PrivateKey | None":
        """The key, or None; its passphrase is asked for on a terminal.

        Raises:
            InputError: if the key cannot be used.
        """
        from nodulebench.security.keys import read_private_key

        if self.path is None:
            return None
        return read_private_key(self.path, signing_passphrase(self.path, self.passphrase_file))

    def required(self) -> "PrivateKey":
        """The key; without one the command ends."""
        key = self.read()
        if key is None:
            raise click.UsageError("give --key: your private OpenSSH key")
        return key


OPENS_SET = "Your private OpenSSH key; it opens a sealed set."


def own_key_options(words: str = OPENS_SET) -> Callable[[Run], Run]:
    """Add --key and --key-passphrase-file; the command gets them as ``own_key``."""

    def add(command: Run) -> Run:
        @wraps(command)
        def with_key(key: Path | None, key_passphrase_file: Path | None, **given: object) -> object:
            return command(**given, own_key=OwnKey(key, key_passphrase_file))

        with_passphrase = click.option("--key-passphrase-file", type=FILE, help=OPENS_KEY)(with_key)
        return click.option("--key", type=KEY, envvar=KEY_VARIABLE, help=words)(with_passphrase)

    return add


def key_table_options(command: Run) -> Run:
    """Add the options that open a key table: the own key, and colleagues' public keys."""
    words = "Public key of a colleague who uses the key table; may be repeated."
    with_colleagues = click.option("--colleague", "colleagues", type=KEY, multiple=True, help=words)
    return own_key_options("Your private OpenSSH key; it opens and signs the key table.")(
        with_colleagues(command)
    )


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
