"""Kill sealing and scoring at operations on files, and print how each attempt ended.

A separate program, because it forks: in a process that has used polars, forks wait for threads
that they do not have.

``python -m builders.killed_sealing FOLDER`` and one of

    every NUMBER   kill at operation 0, complete, verify; the same at NUMBER, 2 NUMBER, ...
    at NUMBER ...  kill at these operations one after the other
    score NUMBER   as every, while mine.csv is scored on the sealed set
"""

import json
import os
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

# imported here, so that the forks need not
import cryptography.hazmat.primitives.asymmetric.ed25519
import cryptography.hazmat.primitives.ciphers.aead
import cryptography.hazmat.primitives.serialization  # noqa: F401

from builders.people import person_key
from builders.sealed import SealedLab
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.verify import verify_sealed

WATCHED = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir"}


def in_child(work: Callable[[], None]) -> int:
    """Do something in a separate process; return how it ended."""
    process = os.fork()
    if process == 0:
        code = 3
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def is_killed_at(lab: SealedLab, operation: int, job: Callable[[SealedLab], object]) -> bool:
    """Do a job, and be killed at an operation on files of the folder; False: it ended before."""
    left = operation

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in WATCHED and str(lab.folder) in str(arguments[0]):
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        sys.addaudithook(watch)
        job(lab)

    code = in_child(work)
    if code not in (0, -signal.SIGKILL):
        raise AssertionError(f"the job ended with {code}")
    return code != 0


def complete(lab: SealedLab) -> dict[str, Any]:
    """Seal to the end, verify, and return the outcome."""
    answer = lab.folder / "answer.json"

    def work() -> None:
        report = lab.seal()
        verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
        files = sorted(
            path.relative_to(lab.sealed).as_posix()
            for path in lab.sealed.rglob("*")
            if path.is_file()
        )
        outcome = {
            "taken_over": report.taken_over,
            "problems": [str(problem) for problem in verified.problems],
            "files": files,
            "left": [path.name for path in lab.folder.glob(".*")],
        }
        answer.write_text(json.dumps(outcome))

    if in_child(work):
        return {"problems": ["it could not be completed"]}
    outcome: dict[str, Any] = json.loads(answer.read_text())
    return outcome


def score(lab: SealedLab) -> dict[str, Any]:
    """Score mine.csv on the sealed set; return the feedback."""
    order = SealedEvaluateOptions(
        lab.folder / "mine.csv", lab.sealed, person_key("Bo"), "Example", bootstraps=0
    )
    return evaluate_sealed(order)[0]


def score_again(lab: SealedLab) -> dict[str, Any]:
    """Verify what a killed evaluation left, score again, and return the outcome."""
    answer = lab.folder / "answer.json"

    def work() -> None:
        left = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
        used = score(lab)["budget"]["used"]
        verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
        problems = [str(problem) for problem in (*left.problems, *verified.problems)]
        answer.write_text(json.dumps({"problems": problems, "used": used}))

    if in_child(work):
        return {"problems": ["it could not be completed"]}
    outcome: dict[str, Any] = json.loads(answer.read_text())
    return outcome


def main(folder: str, how: str, *numbers: str) -> None:
    """Run as a program."""
    lab = SealedLab(Path(folder))
    outcomes: list[dict[str, Any]] = []
    if how == "every":
        while is_killed_at(lab, len(outcomes) * int(numbers[0]), SealedLab.seal):
            outcomes.append(complete(lab))
            shutil.rmtree(lab.sealed, ignore_errors=True)
    elif how == "score":
        fresh = lab.folder / "fresh"
        shutil.copytree(lab.sealed, fresh)
        while is_killed_at(lab, len(outcomes) * int(numbers[0]), score):
            outcomes.append(score_again(lab))
            shutil.rmtree(lab.sealed)
            shutil.copytree(fresh, lab.sealed)
    else:
        outcomes = [
            {"killed": is_killed_at(lab, int(number), SealedLab.seal)} for number in numbers
        ]
    sys.stdout.write(json.dumps(outcomes))


if __name__ == "__main__":
    main(*sys.argv[1:])
