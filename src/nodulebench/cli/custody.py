"""The commands of ``nodulebench custody``, by the files that have them."""

from importlib import import_module

import click

from nodulebench.cli.help import keep_examples

PARTS = {
    "new-key": "people",
    "keys": "people",
    "admit": "people",
    "rotate": "people",
    "revoke": "people",
    "rekey": "people",
    "retire": "sets",
    "withdraw": "sets",
    "restore-check": "sets",
}


class _Parts(click.Group):
    """Commands in files of their own, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(PARTS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in PARTS:
            return None
        module = import_module(f"{__package__}.{PARTS[cmd_name]}")
        return keep_examples(getattr(module, cmd_name.replace("-", "_")))


@click.group("custody", cls=_Parts)
def command() -> None:
    """What becomes of a sealed set, its people and their keys; each stands in its log."""
