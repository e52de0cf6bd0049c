"""Fill a site for a demonstration: a phantom benchmark, three baselines and two teams.

The detectors really run, on so few and small scans that a newcomer sees a live leaderboard
within a minute.
"""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from sqlalchemy import func, select

from nodulebench.core.errors import InputError
from nodulebench.core.executor import Progress, no_progress
from nodulebench.core.tables import Reference, Submission
from nodulebench.demo import DETECTORS, IMAGES, DemoChoice, make_and_read
from nodulebench.io.marks.luna16 import write_marks
from nodulebench.runner.template import new_algorithm
from nodulebench.web.portal.accounts.roles import Role
from nodulebench.web.portal.accounts.service import make_link, new_token, use_link
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.releases import release
from nodulebench.web.portal.benchmarks.service import (
    BenchmarkOptions,
    BenchmarkRules,
    make_benchmark,
)
from nodulebench.web.portal.database.models import Account, Benchmark
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.service import SubmitOptions, store_upload, submit

PASSWORD = "a leaderboard in a minute"  # noqa: S105 - of people who are made up, on loopback
SMALL = DemoChoice(phantoms=5, matrix=96, slice_mm=3.0)
TEST_SET, TITLE = "phantoms", "Phantoms"
SURE = 0.3
"""The team that wants few false positives leaves out lower scores."""
PEOPLE: tuple[tuple[str, str, tuple[Role, ...]], ...] = (
    ("olga", "Olga Organiser", ("organiser", "auditor")),
    ("ada", "Ada's team", ("participant",)),
    ("lin", "Lin's team", ("participant",)),
)


@dataclass(frozen=True, slots=True)
class _Sent:
    """A demonstration entry and who submits it."""

    by: str
    name: str
    about: str
    file: Path
    is_baseline: bool = False


def fill(
    site: Site, choice: DemoChoice = SMALL, progress: Progress = no_progress, *, runs: bool = True
) -> list[str]:
    """Fill a site without a benchmark; return the logins. With ``runs`` submit an algorithm."""
    with site.database.reading() as session:
        if session.scalar(select(func.count()).select_from(Benchmark)):
            return []
        if session.scalar(select(func.count()).select_from(Account)):
            what = "contains accounts already."
            raise InputError.at(site.settings.storage, what, "Name a new folder with --storage.")
    folder = site.settings.sets / TEST_SET
    reference, submissions = make_and_read(folder, choice, progress)
    shutil.copytree(folder / IMAGES, site.downloads / TEST_SET, dirs_exist_ok=True)
    for login, name, roles in PEOPLE:
        use_link(site, make_link(site, roles, ""), login, name, PASSWORD)
    people = {login: _visitor(site, login) for login, _, _ in PEOPLE}
    benchmark = make_benchmark(
        site,
        people["olga"],
        BenchmarkOptions(
            title=TITLE,
            test_set=TEST_SET,
            protocol="luna16",
            about=_about(reference),
            rules=BenchmarkRules(feedback="cases", takes_algorithms=True),
        ),
    )
    release(site, people["olga"], benchmark, TEST_SET, "scans")
    with TemporaryDirectory(dir=site.settings.storage) as scratch:
        for demo_entry in _sent(
            Path(scratch), submissions, runs=runs and shutil.which("bwrap") is not None
        ):
            with (
                demo_entry.file.open("rb") as file,
                store_upload(site, demo_entry.file.name, file) as upload,
            ):
                submit(
                    site,
                    people[demo_entry.by],
                    benchmark,
                    upload,
                    SubmitOptions(name=demo_entry.name, about=demo_entry.about),
                    is_baseline=demo_entry.is_baseline,
                )
    return list(people)


def token_for_programs(site: Site) -> str:
    return new_token(site, _visitor(site, PEOPLE[1][0]).account, "programs")


def _about(reference: Reference) -> str:
    return (
        f"A demonstration: {reference.cases.height} synthetic chest CT scans, small and coarse, "
        f"with {reference.nodules.height} nodules at exactly known positions. The baselines "
        "are candidate detectors of this package. Sign in as ada or lin, download the scans, and "
        "send your own marks, or an algorithm."
    )


def _sent(folder: Path, submissions: Sequence[Submission], *, runs: bool) -> Iterator[_Sent]:
    def written(submission: Submission, name: str) -> Path:
        write_marks(submission, folder / f"{name}.csv")
        return folder / f"{name}.csv"

    by_name = {submission.name: submission for submission in submissions}
    for name in DETECTORS:
        about = f"As `nodulebench detect {name}` finds them, its best marks of every scan."
        yield _Sent("olga", name, about, written(by_name[name], name), is_baseline=True)
    together = written(submissions[-1], "together")
    yield _Sent("ada", "Three together", "The marks of all three detectors, merged.", together)
    first = by_name[DETECTORS[0]]
    sure = replace(first, marks=first.marks.filter(pl.col("score") > SURE), slices=None)
    about = f"What {first.name} gives a score above {SURE}."
    yield _Sent("lin", "Confident detections", about, written(sure, "sure"))
    if runs:
        new_algorithm(folder / "densest", "python")
        packed = shutil.make_archive(str(folder / "densest"), "zip", folder / "densest")
        about = "A program that workers run: what `nodulebench algorithm new` writes, as it is."
        yield _Sent("lin", "The densest voxel", about, Path(packed))


def _visitor(site: Site, login: str) -> User:
    with site.database.reading() as session:
        account = session.scalars(select(Account).where(Account.login == login)).one()
    return User(account.id, account.login, account.name, frozenset({*account.roles, "public"}))
