"""A Markdown page -> its code blocks; running them one after another in a folder.

``bash`` and ``python`` blocks run. A ``text`` block that follows one directly is what it shows:
its lines must come in the output in this order. A ``code-block`` with a caption is a file.
"""

import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from nodulebench.cli import main

FENCE = re.compile(r"^(?P<ticks>`{3,})(?P<kind>[^\n`]*)\n(?P<body>.*?)^(?P=ticks)$", re.M | re.S)
CAPTION = re.compile(r"^:caption: (?P<name>\S+)\n\n?", re.M)
STARTS_FROM = re.compile(r"\A---\n(?:\w+: .*\n)*?starts_from: (?P<page>\S+)\n")


@dataclass(frozen=True)
class Block:
    """One code block: its kind, its text, the file it is, and the output shown below it."""

    kind: str
    text: str
    file: str = ""
    shown: str = ""


def blocks_of(page: Path) -> list[Block]:
    """The blocks of a page that run or are files."""
    text = page.read_text(encoding="utf-8")
    fences = list(FENCE.finditer(text))
    blocks = []
    for number, fence in enumerate(fences):
        kind, body = fence["kind"].strip(), fence["body"]
        if kind.startswith("{code-block}"):
            caption = CAPTION.search(body)
            if caption:
                blocks.append(Block("file", body[caption.end() :], caption["name"]))
        elif kind in ("bash", "python"):
            after = fences[number + 1] if number + 1 < len(fences) else None
            is_shown = (
                after and after["kind"] == "text" and not text[fence.end() : after.start()].strip()
            )
            blocks.append(Block(kind, body, shown=after["body"] if is_shown else ""))
    return blocks


def blocks_to_run(page: Path, pages: Path) -> Iterator[Block]:
    """The blocks of a page; first the files of the page that it starts from."""
    start = STARTS_FROM.match(page.read_text(encoding="utf-8"))
    if start:
        for block in blocks_of(pages / f"{start['page']}.md"):
            if "nodulebench " in block.text:
                break
            yield block
    yield from blocks_of(page)


def run_block(block: Block, folder: Path) -> str:
    """Run one block in a folder and give its output; a file is written.

    A block whose shown output has an error must fail, every other must not.
    """
    if block.kind == "file":
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return ""
    text = _without_pip(block.text, folder) if block.kind == "bash" else block.text
    shell = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(
        shell if block.kind == "bash" else [sys.executable, "-c", text],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(folder), *_python_path()]),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=900,
        check=False,
    )
    _check_end(block, done.returncode, done.stdout)
    return done.stdout


def run_block_here(block: Block, folder: Path) -> str:
    """The same without starting Python again and again; the folder is the current one.

    Python blocks and lines that are nothing but a ``nodulebench`` command run in this process.
    """
    if block.kind == "file":
        return run_block(block, folder)
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        if block.kind == "python":
            exec(block.text, {})  # noqa: S102 - the page's own code
            return output.getvalue()
        status = 0
        for is_ours, lines in groupby(_without_pip(block.text, folder).splitlines(), _is_plain):
            if is_ours:
                status = max(_status_of(line) for line in lines)
            else:
                output.write(run_block(Block("bash", "\n".join(lines)), folder))
    _check_end(block, status, output.getvalue())
    return output.getvalue()


def _python_path() -> list[str]:
    """Where this process looks for modules, in addition to what is installed."""
    given = os.environ.get("PYTHONPATH", "")
    return given.split(os.pathsep) if given else []


def _is_plain(line: str) -> bool:
    return line.startswith("nodulebench ") and not set(line) & set("|><;&$")


def _status_of(command: str) -> int:
    try:
        main(shlex.split(command)[1:])
    except SystemExit as end:
        return int(end.code or 0)


def _check_end(block: Block, status: int, output: str) -> None:
    has_failed, should_fail = status != 0, "error: " in block.shown
    assert has_failed == should_fail, f"{block.text}\nexit {status}\n{output}"


def lines_not_shown(shown: str, output: str) -> list[str]:
    """The lines of ``shown`` that do not come in the output, in order; ``...`` is anything."""
    lines = iter(line.rstrip() for line in output.splitlines())
    wanted = [line.rstrip() for line in shown.splitlines()]
    return [line for line in wanted if line.strip() not in ("", "...") and line not in lines]


def _without_pip(text: str, folder: Path) -> str:
    """The script without its ``pip install FOLDER``: what that does is done here, offline."""
    shown_lines = []
    for line in text.splitlines():
        match = re.fullmatch(r"pip install (?:-e )?(?P<package>[\w./-]+)", line)
        if match:
            _install(folder / match["package"], folder)
        else:
            shown_lines.append(line)
    return "\n".join(shown_lines)


def _install(package: Path, folder: Path) -> None:
    """Make a package's modules and entry points known to programs started in ``folder``."""
    project = tomllib.loads((package / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    about.mkdir()
    name = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    (about / "METADATA").write_text(name, encoding="utf-8")
    points = "".join(
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
        for group, entries in project["entry-points"].items()
    )
    (about / "entry_points.txt").write_text(points, encoding="utf-8")
    for module in package.glob("*.py"):
        (folder / module.name).write_text(module.read_text(encoding="utf-8"), encoding="utf-8")
