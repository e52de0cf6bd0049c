"""What the commands of a review share: the project, the batch, and who takes the step."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nodulebench.cli.options import FILE, Command, option

if TYPE_CHECKING:
    from nodulebench.annotation.project import Desk

FOLDER = click.argument("folder", type=FILE)
BATCH = click.argument("batch_id", metavar="BATCH")
CASES = click.argument("case_ids", metavar="[CASE]...", nargs=-1)
COMMENT = option("--comment", str, "", "Why.")
BY = click.option("--by", "actor_id", required=True, help="Who takes the step.")


def one_candidate(command: Command) -> Command:
    """Add the arguments that name a candidate of a project: FOLDER BATCH CASE CANDIDATE."""
    for name in ("candidate", "case", "batch"):
        command = click.argument(f"{name}_id", metavar=name.upper())(command)
    return FOLDER(command)


def signed(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --by and --key; the command gets the project as ``desk``, open for who has that key."""

    @BY
    @click.option("--key", type=FILE, help="Your own OpenSSH key, where the roster names keys.")
    @click.option("--key-passphrase-file", type=FILE, help="File whose first line opens that key.")
    @wraps(command)
    def opened(
        folder: Path, key: Path | None, key_passphrase_file: Path | None, **given: Any
    ) -> Any:
        return command(desk=opened_desk(folder, key, key_passphrase_file), **given)

    return opened


def opened_desk(folder: Path, key: Path | None, passphrase_file: Path | None) -> "Desk":
    """The project of a folder, open for who has a key."""
    from nodulebench.annotation.project import open_project
    from nodulebench.cli.vault_options import first_line

    passphrase = "" if passphrase_file is None else first_line(passphrase_file)
    return open_project(folder, key, passphrase)
