"""Does a change of the code change any result? Write results before and after, and compare them.

::

    python -m benchmarks.same_results write ../before     # at the commit before
    python -m benchmarks.same_results write ../after      # at the commit after
    python -m benchmarks.same_results compare ../before ../after [--renamed names.tsv]

Written are the result folders of both public submissions to LUNA16 under every protocol that
applies, a study of the size of NIFDC's (10 algorithms, 593 cases), a comparison, a check, a
verification, the demonstration, the help of every command, and the description of the portal's
interface. ``--renamed`` is a table of old and new names (tab-separated); they are replaced in the
old files, and the digests of protocols and plans, which depend on names, are left out.
"""

import argparse
import contextlib
import gzip
import hashlib
import io
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from click.testing import CliRunner

from benchmarks.evaluate_nifdc import evaluate, study
from benchmarks.measure import DATA
from builders.portal import interface_description
from nodulebench import write_evaluation
from nodulebench.cli import nodulebench as program

LUNA16 = DATA / "luna16"
SUBMISSIONS = {
    "all": (LUNA16 / "submissions" / "deeplung_dpn26_888.csv.gz", ()),
    "fold": (
        LUNA16 / "submissions" / "res18_focal_fold9.csv",
        ("--series", str(LUNA16 / "fold9_seriesuids.csv")),
    ),
}
PROTOCOLS = ("luna16", "nifdc-2022", "fg-ai4h", "fg-ai4h-2", "fotin-2008")
LOCAL = re.compile(r'"(written|created|seconds|cpu_seconds|version|platform|python)": [^,}\n]*')
"""Parts of documents that differ between runs of the same code."""
DIGEST = re.compile(r"\b[0-9a-f]{64}\b")
PROGRESS = re.compile(r"^.*: \d+ of \d+\n", re.MULTILINE)
"""What a slow command prints in between."""


def main() -> None:
    """Write the results of this checkout, or compare two sets of them."""
    parser = argparse.ArgumentParser(description="Write results, or compare them.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("write").add_argument("folder", type=Path)
    compared = verbs.add_parser("compare")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    compared.add_argument("--renamed", type=Path)
    options = parser.parse_args()
    if options.verb == "write":
        write_results(options.folder)
        return
    names = read_names(options.renamed) if options.renamed else {}
    problems = list(differences(options.before, options.after, names))
    print("\n".join(problems) or "no difference")
    sys.exit(bool(problems))


def write_results(folder: Path) -> None:
    """Write every result of this checkout into a folder."""
    folder.mkdir(parents=True)
    for name, (marks, options) in SUBMISSIONS.items():
        for protocol in PROTOCOLS:
            arguments = ["--reference", str(LUNA16), *options, "--protocol", protocol]
            out = ["--out", str(folder / f"{name}-{protocol}")]
            run(folder, f"evaluate-{name}-{protocol}", "evaluate", str(marks), *arguments, *out)
    marks, options = SUBMISSIONS["fold"]
    run(folder, "check", "check", str(marks), "--reference", str(LUNA16), *options)
    run(folder, "verify", "verify", str(folder / "fold-luna16"))
    both = [str(SUBMISSIONS["all"][0]), str(marks), "--name", "all", "--name", "fold"]
    pair = str(folder / "pair")
    run(folder, "pair", "evaluate", *both, "--reference", str(LUNA16), *options, "--out", pair)
    run(folder, "compare", "compare", pair, "--baseline", "fold", "--margin", "0.05")
    run(folder, "demo", "demo", "--out", str(folder / "demo"), "--count", "2")
    write_nifdc_study(folder / "nifdc-study")
    write_helps(folder / "help.txt")
    write_interface(folder / "openapi.json")


def run(folder: Path, name: str, *arguments: str) -> None:
    """Run a command in this process, and keep what it prints and its exit status."""
    result = CliRunner().invoke(program, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    text = PROGRESS.sub("", result.stdout.replace(str(folder), "FOLDER"))
    (folder / f"{name}.txt").write_text(f"{text}exit {result.exit_code}\n", encoding="utf-8")
    print(f"{name}: exit {result.exit_code}", flush=True)


def write_nifdc_study(folder: Path) -> None:
    """Evaluate ten made-up algorithms on as many cases as NIFDC's study had."""
    write_evaluation(evaluate(*study()), folder)


def write_helps(file: Path) -> None:
    """Write the help of every command, at a fixed width."""
    with file.open("w", encoding="utf-8") as text:
        for name, command in sorted(walk("nodulebench", program)):
            context = click.Context(command, info_name=name, max_content_width=80)
            context.terminal_width = 80
            text.write(f"=== {name}\n{command.get_help(context)}\n")


def walk(name: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    """A command and all commands below it, with their full names."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for child in command.list_commands(context):
            subcommand = command.get_command(context, child)
            if subcommand is not None:
                yield from walk(f"{name} {child}", subcommand)


def write_interface(file: Path) -> None:
    """Write the OpenAPI description of the portal."""
    with TemporaryDirectory() as folder:
        description = interface_description(Path(folder))
    file.write_text(json.dumps(description, indent=1, sort_keys=True), encoding="utf-8")


def read_names(table: Path) -> dict[str, str]:
    """Old and new names from a table with tabs."""
    rows = (line.split("\t") for line in table.read_text(encoding="utf-8").splitlines() if line)
    return {row[0]: row[1] for row in rows}


def differences(before: Path, after: Path, names: dict[str, str]) -> Iterator[str]:
    """The files that differ, with the first place where they do."""
    files = [
        {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
        for folder in (before, after)
    ]
    for path in sorted(files[0] ^ files[1]):
        yield f"{path}: only {'before' if path in files[0] else 'after'}"
    for path in sorted(files[0] & files[1]):
        old, new = (content(folder / path) for folder in (before, after))
        if isinstance(old, str) and isinstance(new, str):
            old, new = (DIGEST.sub("DIGEST", text) if names else text for text in (old, new))
            old = renamed(old, names)
        if old != new:
            yield f"{path}: {first_difference(old, new)}"


def content(file: Path) -> str | bytes:
    """The text of a file without what differs between runs, or its bytes."""
    data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    with contextlib.suppress(UnicodeDecodeError):
        return LOCAL.sub(r'"\1": ...', data.decode("utf-8"))
    return data


def renamed(text: str, names: dict[str, str]) -> str:
    """A text with new names."""
    for old, new in names.items():
        text = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, text)
    return text


def first_difference(old: str | bytes, new: str | bytes) -> str:
    """Where two contents begin to differ."""
    if isinstance(old, bytes) or isinstance(new, bytes):
        sums = (
            hashlib.sha256(content if isinstance(content, bytes) else content.encode())
            for content in (old, new)
        )
        return " and ".join(sum_.hexdigest()[:12] for sum_ in sums)
    lines = zip(io.StringIO(old), io.StringIO(new), strict=False)
    for number, (first, other) in enumerate(lines, 1):
        if first != other:
            return f"line {number}: {first.strip()[:120]!r} and {other.strip()[:120]!r}"
    return f"{len(old)} and {len(new)} characters"


if __name__ == "__main__":
    main()
