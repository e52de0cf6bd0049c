"""Commands of an annotation project -> how they end when they are stopped at operations on files.

A separate program, because it forks, as ``builders.killed_sealing`` does.

``python -m builders.killed_annotation FOLDER HOW STRIDE [COMMAND ...]`` with HOW one of

    killed   every command is killed at operation 0, given again, looked at; the same at STRIDE, ...
    full     the same, but from that operation on the disk takes nothing more
"""

import contextlib
import errno
import io
import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

# imported here, so that the forks need not
import filelock  # noqa: F401
import polars as pl

import nodulebench.annotation.project  # noqa: F401
from builders.annotation_project import LONE, MISSED, SHARED, Panel
from builders.killed_sealing import WATCHED, in_child
from nodulebench.annotation.actions import steps_of
from nodulebench.annotation.project import audit_project, open_project
from nodulebench.cli import main as command_line

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
WORK, FRESH = "work", "fresh"
COMMANDS: dict[str, list[str]] = {
    "start": ["start", "P", "--roster", "roster.toml", "--cases", "cases.csv"],
    "open": ["open", "P", "b1", "a", "b", "--team", "one", "--by", "office"],
    "read": ["read", "P", "b1", "r1.csv", "--by", "r1"],
    "read again": ["read", "P", "b1", "r2.csv", "--by", "r2"],
    "read last": ["read", "P", "b1", "r3.csv", "--by", "r3"],
    "reveal": ["reveal-reviewer", "P", "b1", "--by", "office"],
    "type": ["type", "P", "b1", "a", "candidate-1", "solid", "--by", "r1"],
    "type more": ["type", "P", "b1", "b", "candidate-1", "solid", "--by", "r1"],
    "type last": ["type", "P", "b1", "b", "candidate-2", "solid", "--by", "r1"],
    "decide": ["decide", "P", "b1", "a", "candidate-1", "--agree", "--by", "lead2"],
    "decide more": ["decide", "P", "b1", "b", "candidate-1", "--object", "--by", "lead2"],
    "decide last": ["decide", "P", "b1", "b", "candidate-2", "--agree", "--by", "lead2"],
    "add": ["add", "P", "b1", "lead2.csv", "--by", "lead2"],
    "finish": ["finish", "P", "b1", "a", "b", "--by", "lead2"],
    "arbitrate": ["arbitrate", "P", "b1", "b", "candidate-1", "--no-nodule", "--by", "judge1"],
    "arbitrate more": [
        *("arbitrate", "P", "b1", "a", "candidate-2"),
        *("--nodule", "--type", "solid", "--by", "judge1"),
    ],
    "arbitrate last": [
        *("arbitrate", "P", "b1", "b", "candidate-2"),
        *("--nodule", "--type", "solid", "--by", "judge1"),
    ],
    "arbitrate added": [
        *("arbitrate", "P", "b1", "b", "candidate-3"),
        *("--nodule", "--type", "solid", "--by", "judge1"),
    ],
    "checkpoint": ["checkpoint", "P", "panel.checkpoint"],
    "release": ["release", "P", "b1", "--by", "judge1"],
    "export": ["export", "P", "bundle", "--findings", "findings"],
}


def prepare(folder: Path) -> None:
    """Write what people bring: roster, cases, readings."""
    panel = Panel(folder).start("a", "b")
    shutil.move(panel.project / "cases.csv", folder / "cases.csv")
    project = json.loads((panel.project / "project.json").read_text())
    lines = []
    for kind, rows in project["roster"].items():
        for row in rows:
            lines.append(f"[[{kind}]]")
            lines += [f"{name} = {json.dumps(value)}" for name, value in row.items() if value]
    (folder / "roster.toml").write_text("\n".join(lines))
    shutil.rmtree(panel.project)
    drawn = {"r1": [SHARED, LONE], "r2": [SHARED], "r3": [SHARED]}
    for person, boxes in drawn.items():
        panel.file(person, {"a": boxes[:1], "b": boxes})
    typed = panel.file("lead2", {"a": [MISSED], "b": [MISSED]})
    pl.read_csv(typed).with_columns(type=pl.lit("solid")).write_csv(typed)


def give(arguments: list[str]) -> int:
    """Give a command; its exit status."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            command_line(
                [
                    "annotate",
                    "review",
                    *("panel" if argument == "P" else argument for argument in arguments),
                ]
            )
    except SystemExit as stopped:
        if stopped.code:
            sys.stderr.write(output.getvalue())
        return int(stopped.code or 0)


def is_stopped_at(folder: Path, arguments: list[str], operation: int, how: str) -> bool:
    """Give a command, and stop it at an operation that changes files; False: it ended before."""
    left = operation

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal left
        if event not in WATCHED or str(given[0]).startswith(("/dev", "/proc")):
            return
        if event == "open" and not int(given[2] or 0) & WRITING:
            return
        left -= 1
        if left < 0 and how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if left < 0 and event not in ("os.remove", "os.rmdir"):
            raise OSError(errno.ENOSPC, "No space left on device", str(given[0]))

    def work() -> None:
        os.chdir(folder)
        sys.addaudithook(watch)
        code = give(arguments)
        os._exit(7 if left < 0 else code)

    code = in_child(work)
    if code not in (0, 7, -signal.SIGKILL):
        raise AssertionError(f"{arguments} at {operation}: it ended with {code}")
    return code != 0


def seen(folder: Path) -> dict[str, Any]:
    """What is written down of the project, without times and chance; and what is wrong with it."""
    if not (folder / "panel" / "project.json").is_file():
        return {}
    lab = open_project(folder / "panel")
    events = lab.log.read()
    files = [path for name in ("bundle", "findings") for path in (folder / name).glob("*")]
    return {
        "steps": [
            [step.actor_id, step.step, step.case_id] for event in events for step in steps_of(event)
        ],
        "states": {name: batch.state for name, batch in lab.batches().items()},
        "problems": [str(problem) for problem in audit_project(lab).problems],
        "files": sorted(path.name for path in files),
        "checkpoint": (folder / "panel.checkpoint").is_file(),
    }


def answered(folder: Path, job) -> Any:
    """What a job in a separate process answers."""
    answer = folder.parent / "answer.json"

    def work() -> None:
        os.chdir(folder)
        answer.write_text(json.dumps(job()))

    return json.loads(answer.read_text()) if in_child(work) == 0 else {"problems": ["broken"]}


def main(name: str, how: str, stride: str, *titles: str) -> None:
    """Run as a program; print for every command how often it was stopped, and what went wrong."""
    root = Path(name)
    work, fresh = root / WORK, root / FRESH
    fresh.mkdir(parents=True)
    answered(fresh, lambda: prepare(fresh))
    outcomes: dict[str, Any] = {}
    for place, (title, arguments) in enumerate(COMMANDS.items()):
        before = answered(fresh, lambda: seen(fresh))
        done = root / "done"
        shutil.copytree(fresh, done)
        if answered(done, lambda arguments=arguments: give(arguments)) != 0:
            raise AssertionError(f"{title} failed")
        after = answered(done, lambda: seen(root / "done"))
        stops, wrong = 0, []
        operation = place % int(stride)
        while not titles or title in titles:
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(fresh, work)
            if not is_stopped_at(work, arguments, operation, how):
                break
            stops += 1
            left = answered(work, lambda: seen(work))
            code = answered(work, lambda arguments=arguments: give(arguments))
            again = answered(work, lambda: seen(work))
            # the step was taken or not, and after the same command once more it was taken once
            if left.get("steps") not in (before.get("steps"), after["steps"]) or again != after:
                wrong.append([operation, left, code, again])
            operation += int(stride)
        outcomes[title] = {"stops": stops, "wrong": wrong}
        shutil.rmtree(fresh)
        shutil.move(done, fresh)
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
