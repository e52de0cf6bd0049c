"""A seed -> a small made-up test set, a benchmark of it, three baselines and two more people.

No images: nodules at random places, and algorithms whose strengths are known by construction, so
that a newcomer sees a live leaderboard within seconds.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from sqlalchemy import func, select

from nodulebench.portal.access.accounts import make_link, new_token, use_link
from nodulebench.portal.access.roles import Role
from nodulebench.portal.access.visitor import Visitor
from nodulebench.portal.benchmarks import make_benchmark
from nodulebench.portal.entries import received, submit
from nodulebench.portal.site import Site
from nodulebench.portal.store.tables import Account, Benchmark
from nodulebench.storage.csv_text import write_csv

PASSWORD = "a leaderboard in a minute"  # noqa: S105 - of people who are made up, on loopback
CASES, NODULES_PER_CASE, SEED = 60, 2, 16
TEST_SET, TITLE = "made-up", "Made-up nodules"
ABOUT = (
    "A demonstration: 60 made-up scans with 120 nodules at random places, no images. Three "
    "baselines are scored; sign in as ada or lin and send your own."
)


@dataclass(frozen=True, slots=True)
class Skill:
    """How well a made-up algorithm finds nodules."""

    name: str
    found: float
    """Chance that it marks a nodule."""
    false_per_case: float


SKILLS = (
    Skill("baseline careful", 0.78, 1.5),
    Skill("baseline eager", 0.93, 12.0),
    Skill("baseline weak", 0.55, 4.0),
)
PEOPLE: tuple[tuple[str, str, tuple[Role, ...]], ...] = (
    ("olga", "Olga Organiser", ("organiser", "auditor")),
    ("ada", "Ada's team", ("participant",)),
    ("lin", "Lin's team", ("participant",)),
)


def fill(site: Site) -> list[str]:
    """Fill a site that has no benchmark; the logins of its people, nothing where it has one."""
    with site.database.reading() as session:
        if session.scalar(select(func.count()).select_from(Benchmark)):
            return []
    random = np.random.default_rng(SEED)
    truth = _write_test_set(site.settings.sets / TEST_SET, random)
    for login, name, roles in PEOPLE:
        use_link(site, make_link(site, roles, ""), login, name, PASSWORD)
    organiser, *others = (_visitor(site, login) for login, _, _ in PEOPLE)
    benchmark = make_benchmark(
        site, organiser, title=TITLE, test_set=TEST_SET, protocol="luna16", about=ABOUT
    )
    sent = [(skill, organiser, True) for skill in SKILLS]
    sent += [(Skill(f"{one.login}'s first", 0.7, 3.0), one, False) for one in others]
    for skill, by, is_baseline in sent:
        marks = site.settings.storage / f"{skill.name.replace(' ', '-')}.csv"
        write_csv(_marks(truth, skill, random), marks)
        with marks.open("rb") as file, received(site, marks.name, file) as kept:
            submit(site, by, benchmark, kept, name=skill.name, is_baseline=is_baseline)
        marks.unlink()
    return [login for login, _, _ in PEOPLE]


def token_for_programs(site: Site) -> str:
    """A token of the first participant."""
    return new_token(site, _visitor(site, PEOPLE[1][0]).account, "programs")


def _write_test_set(folder: Path, random: np.random.Generator) -> pl.DataFrame:
    """A LUNA16 folder; its annotations."""
    folder.mkdir(parents=True, exist_ok=True)
    series = [f"1.2.826.0.1.{number:03d}" for number in range(1, CASES + 1)]
    count = CASES * NODULES_PER_CASE
    nodules = pl.DataFrame(
        {
            "seriesuid": np.repeat(series, NODULES_PER_CASE).tolist(),
            **_places(random, count),
            "diameter_mm": np.round(random.uniform(4, 20, count), 2),
        }
    )
    write_csv(pl.DataFrame({"seriesuid": series}), folder / "seriesuids.csv", has_header=False)
    write_csv(nodules, folder / "annotations.csv")
    write_csv(nodules.clear(), folder / "annotations_excluded.csv")
    return nodules


def _marks(truth: pl.DataFrame, skill: Skill, random: np.random.Generator) -> pl.DataFrame:
    """What an algorithm of that skill says: near nodules with high scores, elsewhere with low."""
    seen = truth.filter(pl.Series(random.random(truth.height) < skill.found))
    near = seen.select("seriesuid", "coordX", "coordY", "coordZ").with_columns(
        pl.Series("probability", random.beta(5, 2, seen.height))
    )
    count = random.poisson(skill.false_per_case * CASES)
    series = truth["seriesuid"].unique(maintain_order=True).to_numpy()
    elsewhere = pl.DataFrame(
        {
            "seriesuid": random.choice(series, count).tolist(),
            **_places(random, count),
            "probability": random.beta(2, 4, count),
        }
    )
    return pl.concat([near, elsewhere]).sort("seriesuid", maintain_order=True)


def _places(random: np.random.Generator, count: int) -> dict[str, np.ndarray]:
    axes = ("coordX", "coordY", "coordZ")
    return {axis: np.round(random.uniform(-120, 120, count), 2) for axis in axes}


def _visitor(site: Site, login: str) -> Visitor:
    with site.database.reading() as session:
        one = session.scalars(select(Account).where(Account.login == login)).one()
    return Visitor(one.id, one.login, one.name, frozenset({*one.roles, "public"}))
