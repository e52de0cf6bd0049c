"""nodulebench completion: the script that completes commands, options and files in a shell."""

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    r"""Print the script that completes commands in a SHELL.

    It completes commands, options and files. Append it to ~/.bashrc or ~/.zshrc, or write it to
    ~/.config/fish/completions/nodulebench.fish.

    \b
    nodulebench completion bash
    """
    kind = get_completion_class(shell)
    if kind is not None:
        root = context.find_root().command
        click.echo(kind(root, {}, "nodulebench", "_NODULEBENCH_COMPLETE").source())
