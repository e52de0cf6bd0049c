"""A sealed set on which several made-up algorithms were evaluated by a roster."""

from dataclasses import dataclass, replace
from pathlib import Path

from builders.made_up import Skill, made_up_reference, made_up_submission
from builders.people import person_entry, person_key, write_key
from builders.sealed import PEOPLE, ROLES, SealedLab
from nodulebench.core.tables import Reference
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_roster
from nodulebench.custody.study_reports import StudyOptions
from nodulebench.io.bundle import write_reference
from nodulebench.io.marks.submission_folder import write_marks

REPORTER = person_entry("Dee", "reporter")
DEVELOPERS = ("Alphacorp", "Betamed", "Gammalung", "Deltascan")


@dataclass(frozen=True)
class StudyLab(SealedLab):
    """The folder in which a test works, with a roster."""

    reference: Reference

    @property
    def roster(self) -> Path:
        return self.folder / "roster.csv"

    def roster_options(self, **more: object) -> SealedEvaluateOptions:
        options = {
            "protocol": "nifdc-2022",
            "bootstraps": 20,
            "out": self.folder / "feedback",
            **more,
        }
        return SealedEvaluateOptions(Path(), self.sealed, person_key("Bo"), "", **options)  # type: ignore[arg-type]

    def study_options(self, *evaluations: str, person: str = "Dee") -> StudyOptions:
        return StudyOptions(self.sealed, person_key(person), evaluations)


def made_up_study(
    folder: Path,
    reuse: str,
    *,
    algorithms: int = 3,
    cases: int = 40,
    nodules: int = 160,
    uses: tuple[str, ...] = (),
) -> StudyLab:
    """Seal a made-up set and write submissions and their roster; nothing is evaluated yet."""
    reference = made_up_reference(cases, nodules, seed=7)
    lab = StudyLab(folder, reference)
    write_reference(reference, lab.bundle)
    for name in (*ROLES, "Dee"):
        write_key(name, folder)
    (folder / "policy.toml").write_text(PEOPLE + REPORTER + reuse)
    lab.seal()
    lines = ["file,developer,alias,intended_use"]
    for number in range(algorithms):
        developer = DEVELOPERS[number % len(DEVELOPERS)]
        secret = f"{developer}-finder-{number}"
        skill = Skill(secret, 0.6 + 0.03 * number, 0.4, 1.0, 3.0 + number)
        submission = made_up_submission(reference, skill, seed=3)
        declared = replace(submission, facts={"version": f"9.8.{number}", "developer": developer})
        write_marks(declared, folder / f"file-{secret}")
        use = uses[number] if uses else ""
        row = (f"file-{secret}", developer, f"A{number + 1}", use)
        lines.append(",".join(row))
    lab.roster.write_text("\n".join(lines) + "\n")
    return lab


def evaluated_study(folder: Path, reuse: str, **more: object) -> StudyLab:
    """The same with every algorithm of the roster evaluated."""
    lab = made_up_study(folder, reuse, **more)  # type: ignore[arg-type]
    results = list(evaluate_roster(lab.roster, lab.roster_options()))
    problems = [str(result.problem) for result in results if result.problem is not None]
    assert not problems, problems
    return lab
