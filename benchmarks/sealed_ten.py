"""Ten algorithms of NIFDC size on a sealed set against the same study on plain files."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from builders.sealed_study import StudyLab, made_up_study
from nodulebench.custody.evaluate import evaluate_roster
from nodulebench.custody.study_reports import compare_stored
from nodulebench.evaluation.comparison.compare import ComparisonChoice
from nodulebench.evaluation.comparison.service import compare_folder
from nodulebench.evaluation.service import EvaluateOptions, evaluate_files

REUSE = '\n[reuse]\nevaluations_per_developer = 9\nfeedback = "metrics"\n'
PROTOCOL, ALGORITHMS = "nifdc-2022", 10


def main() -> None:
    """Print CPU seconds of both, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        lab = made_up_study(Path(folder), REUSE, algorithms=ALGORITHMS, cases=593, nodules=6109)
        choice = ComparisonChoice("A1", ("recall", "precision"), None, 1000, 0)
        plain = _cpu(lambda: _plain(lab, choice))
        evaluations = _cpu(lambda: _evaluations(lab))
        study = _cpu(lambda: compare_stored(lab.study_options(), choice, lab.folder / "study"))
        print("| what | CPU s |\n|---|---|")
        print(f"| plain files: evaluate, compare, report | {plain:.1f} |")
        print(f"| sealed set: {ALGORITHMS} evaluations | {evaluations:.1f} |")
        print(f"| sealed set: comparison and report from stored results | {study:.1f} |")
        print(f"| sealed against plain | {(evaluations + study) / plain:.2f} times |")
        stored = sum(path.stat().st_size for path in (lab.sealed / "results").iterdir())
        print(f"| stored results, all together | {stored / 1e6:.0f} MB |")


def _plain(lab: StudyLab, choice: ComparisonChoice) -> None:
    files = sorted(lab.folder.glob("file-*"), key=lambda path: int(path.name.split("-")[-1]))
    names = tuple(f"A{number + 1}" for number in range(len(files)))
    out = lab.folder / "plain"
    evaluate_files(
        EvaluateOptions(
            marks=tuple(files), reference=lab.bundle, protocol=PROTOCOL, names=names, out=out
        )
    )
    compare_folder(out, choice)


def _evaluations(lab: StudyLab) -> None:
    order = lab.roster_options(protocol=PROTOCOL, bootstraps=None)
    problems = [entry.problem for entry in evaluate_roster(lab.roster, order) if entry.problem]
    if problems:
        raise problems[0]


def _cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
