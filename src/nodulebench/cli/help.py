"""The overview of commands by purpose, the layout of help, and exit statuses.

A small module that loads only click, because every start of the program imports it.
"""

import functools
from collections.abc import Callable

import click

from nodulebench.cli.terminal import set_quiet

DONE, PROBLEM, USAGE, NOT_MET, UNDECIDED, STOPPED = 0, 1, 2, 3, 4, 130

MEANINGS = {
    DONE: "done; a plan or a gate was met",
    PROBLEM: "unusable data, or a failed check (verify, conformance, robustness)",
    USAGE: "wrong usage",
    NOT_MET: "done, but the frozen plan or the gate `--no-worse-than` was not met",
    UNDECIDED: "done, but it cannot be decided whether the frozen plan is met",
    STOPPED: "stopped by Ctrl-C",
}
"""The meaning of each exit status."""

VERDICT_STATUS = {"failed": NOT_MET, "undecided": UNDECIDED, "passed": DONE}
"""Verdict under a plan -> exit status; of several verdicts the first in this order counts."""

GROUPS = {
    "Score": {
        "demo": "Try everything on synthetic scans, and write a report.",
        "evaluate": "Score submissions against a reference standard.",
        "check": "Check submissions without scoring them.",
        "view": "Show the cases of a result in the browser.",
        "report": "Write a report for a developer, in Chinese or as PDF.",
        "verify": "Recompute a result, or check a sealed set or certificate.",
        "convert": "Convert marks, references and readings between formats.",
        "conformance": "Run the golden test cases with this scorer or another.",
    },
    "Compare": {
        "compare": "Compare two results, or algorithms with a baseline.",
        "combine": "Combine submissions, and score every combination.",
        "folds": "Make, check and merge the folds of a cross-validation.",
    },
    "Plan a test": {
        "plan": "Compute sample sizes.",
        "test-plan": "Freeze protocol, test set and criteria before a test.",
    },
    "Build a test set": {
        "receive": "Receive DICOM series from a PACS.",
        "curate": "Select the DICOM series that can be cases.",
        "deidentify": "Remove identities from CT slices, and check the result.",
        "coverage": "Describe a test set, and check it against a design.",
        "sample": "Draw cases at random in planned shares.",
        "phantom": "Make synthetic CT scans with exactly known nodules.",
        "bundle": "Write a test set with images, datasheet and digests.",
    },
    "Sequester a test set": {
        "seal": "Encrypt the reference, sign the set and start its log.",
        "unseal": "Export the reference of a sealed set, or show a result.",
        "audit": "Show and check the log of a sealed set.",
        "custody": "Retire a set, withdraw patients, check backups.",
        "keys": "Make keys; manage the people and keys of a sealed set.",
        "sign": "Sign a folder of results.",
    },
    "Run algorithms": {
        "run": "Run an algorithm in a sandbox on every case.",
        "bench": "Compare the findings, time and memory of algorithms.",
        "exchange": "Send encrypted cases to a developer; import the marks.",
        "algorithm": "Write an algorithm from a template, or try one.",
        "detect": "Find nodule candidates with the built-in detectors.",
        "examples": "Cut training examples from images.",
        "train": "Train a classifier or a network.",
        "weights": "List, show and verify weights of networks.",
        "rescore": "Score given candidates with networks.",
        "robustness": "Test how marks change when the image changes.",
    },
    "Host": {
        "portal": "Serve a site with benchmarks and leaderboards.",
        "platform": "Score on grand-challenge.org, Codabench or MedPerf.",
    },
    "Read scans": {
        "read": "Mark nodules in the browser.",
        "annotate": "Take readings to a reference: exam, review, studies.",
        "reference": "Build, compare and study reference standards.",
    },
    "Look up": {
        "protocols": "List the published protocols.",
        "rules": "List the rules for marks.",
        "metrics": "List the metrics.",
        "formats": "List the file formats, each with an example.",
        "help": "Show the help of a command.",
        "completion": "Print the script that completes commands in a shell.",
    },
}
"""Purpose -> command -> what it does; the code is in the module of that name."""

COMMANDS = {name: words for group in GROUPS.values() for name, words in group.items()}
LISTS = ("protocols", "rules", "metrics", "formats")
"""Commands of one module: they list what is registered."""

SECTIONS = {
    "Statistics": "bootstraps seed permutations level alpha power simulations",
    "Sealed test set": "developer submissions checkpoint write-checkpoint evaluation",
    "Your key": "key key-passphrase-file old-key old-key-passphrase-file colleague",
    "Where to run": "executor workers tls-ca tls-cert tls-key",
    "Output": "out force json quiet help debug version",
}
"""Title of a part of the help of a command -> its options; other options come first."""

METAVARS = {
    "NAME": "algorithm ae-title baseline batch by caller case case-id developer filter metric name "
    "oidc-client oidc-name patient person prefix reader reviewer role rule reference-rule "
    "set-name team test title type with workflow operator laboratory image-name",
    "NAMES": "detectors",
    "NAME|FILE": "design protocol",
    "TEXT": "comment number",
    "REASON": "reason",
    "NAME|NUMBER": "evaluation",
    "LIST": "block-folds without-folds stop-by",
    "COLUMNS": "columns",
    "UID": "series-uid",
    "URL": "address database oidc-issuer",
    "ADDRESS": "host proxy",
    "DATE": "date",
    "SEED": "seed repeat-seed",
    "MM": "distance slack minimum tolerance edge error-sd error-mean mean-excess patch-mm "
    "thickness",
    "SHARE": "level alpha power pass-mark minimum-iou repeat-share sensitivity",
    "RATE": "at-fp rate",
    "DEFINITION": "diameter",
    "HU": "nodule-hu",
    "MAS": "dose",
    "MIB": "largest-upload",
    "GIB": "account-quota",
}
"""What the help shows for the value of an option -> the options."""
_METAVAR_OF = {
    f"--{name}": metavar for metavar, names in METAVARS.items() for name in names.split()
}
_SECTION_OF = {f"--{name}": title for title, names in SECTIONS.items() for name in names.split()}


def prepare(command: click.Command) -> click.Command:
    r"""Lay out the help of a command and of those below it, and add ``--quiet``.

    Docstrings are raw, so ``\b`` is two letters in them.
    """
    command.help = command.help and command.help.replace(r"\b", "\b")
    for parameter in command.params:
        if isinstance(parameter, click.Option) and parameter.metavar is None:
            is_whole = isinstance(parameter.type, type(click.INT))
            is_real = isinstance(parameter.type, type(click.FLOAT))
            of_kind = "N" if is_whole else "NUMBER" if is_real else None
            parameter.metavar = _METAVAR_OF.get(parameter.opts[0]) or of_kind
    is_prepared = isinstance(command.get_params, functools.partial)
    if not isinstance(command, click.Group) and not is_prepared:
        command.get_params = functools.partial(_with_quiet, command.get_params)  # type: ignore[method-assign]
    command.format_options = functools.partial(_format_options, command)  # type: ignore[method-assign]
    for below in getattr(command, "commands", {}).values():
        prepare(below)
    return command


_QUIET = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    expose_value=False,
    callback=set_quiet,
    help="Print no progress, and no 'wrote' and 'next' lines.",
)


def _with_quiet(
    own: Callable[[click.Context], list[click.Parameter]], context: click.Context
) -> list[click.Parameter]:
    *others, last = own(context)  # the last is --help
    return [*others, _QUIET, last]


def _format_options(
    command: click.Command, context: click.Context, formatter: click.HelpFormatter
) -> None:
    """Write the options of a command by section, then the commands of a group."""
    parts: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Options", *SECTIONS)}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            parts[_SECTION_OF.get(parameter.opts[-1], "Options")].append(record)
    given = {title: records for title, records in parts.items() if records}
    if list(given) == ["Output"]:
        given = {"Options": given["Output"]}
    for title, records in given.items():
        with formatter.section(title):
            formatter.write_dl(records)
    if isinstance(command, click.Group):
        command.format_commands(context, formatter)


@click.command("help")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
@click.pass_context
def command(context: click.Context, words: tuple[str, ...]) -> None:
    r"""Show the help of COMMAND, or the list of all commands.

    \b
    nodulebench help evaluate
    nodulebench help annotate review open
    """
    shown = context.find_root()
    for word in words:
        below = shown.command
        if not isinstance(below, click.Group):
            raise click.UsageError(f"'{shown.command_path}' has no commands.", shown)
        name, found, _ = below.resolve_command(shown, [word])
        if found is not None:
            shown = click.Context(found, parent=shown, info_name=name)
    click.echo(shown.get_help())
