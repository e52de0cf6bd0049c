"""A sealed set discloses only what its policy allows; only the worker has its key."""

import shutil
from pathlib import Path
from statistics import NormalDist
from threading import Event

import pytest
from sqlalchemy import select, text

from builders.algorithms import (
    MARKS,
    algorithm_folder,
    images_set,
    needs_bubblewrap,
    small_volume,
)
from builders.people import person_key
from builders.portal import Browser, make_person, make_tiny_benchmark, signed_in, work_off
from builders.sealed import HEADER, make_lab
from nodulebench.io.images import metaimage
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.service import BenchmarkRules
from nodulebench.web.portal.database.models import Account, Benchmark, Job, Result
from nodulebench.web.portal.leaderboards.reuse import uses_of
from nodulebench.web.portal.site import Site
from nodulebench.web.portal.submissions.worker import work

GOOD = HEADER + "scan0,1,2,3,0.9\nscan1,1,2,3,0.8\n"
OPENING = person_key("Bo")


@pytest.fixture
def sealed(site: Site, organiser: User, tmp_path: Path) -> str:
    """A benchmark of a sealed set of four scans with one nodule each."""
    lab = make_lab(tmp_path)
    lab.seal()
    shutil.move(lab.sealed, site.settings.sets / "sealed")
    return make_tiny_benchmark(site, organiser, test_set="sealed")


def states(site: Site) -> list[str]:
    with site.database.reading() as session:
        return list(session.scalars(select(Job.state).order_by(Job.created_at)))


def test_only_feedback_of_a_sealed_set_is_stored(site: Site, as_ada: Browser, sealed: str) -> None:
    with site.database.reading() as session:
        assert session.get_one(Benchmark, sealed).is_sealed
    assert not site.benchmark(sealed).exists()
    checked = as_ada.send(sealed, "validate", GOOD + "unknown,1,2,3,0.5\n")
    assert checked.status_code == 200
    assert "unknown" not in checked.text.split("</section>")[0]
    entry = as_ada.send(sealed, "submit", GOOD).headers["location"]
    assert work(site, OPENING, Event(), until_empty=True) == 1
    assert states(site) == ["done"]
    with site.database.reading() as session:
        result = session.scalars(select(Result)).one()
    # two of four nodules, rounded by the policy
    assert [(reading["metric"], reading["value"]) for reading in result.metrics["readings"]] == [
        ("recall", 0.5)
    ]
    stored = {path.name for path in (site.results / result.folder).rglob("*") if path.is_file()}
    assert stored == {"feedback.json", "checkpoint.json"}
    assert "0.500" in as_ada.get(entry).text


def test_a_worker_without_a_key_scores_no_sealed_set(
    site: Site, as_ada: Browser, sealed: str
) -> None:
    entry = as_ada.send(sealed, "submit", GOOD).headers["location"]
    work_off(site)
    assert states(site) == ["failed"]
    page = as_ada.get(entry).text
    assert "The organisers can see the reason" in page
    assert "started without a key" not in page
    assert "started without a key" in signed_in(site, "olga").get("/dashboard").text


def test_a_spent_budget_is_reported_to_the_submitter(
    site: Site, as_ada: Browser, sealed: str
) -> None:
    pages = []
    for number in range(3):
        content = GOOD + f"scan{number},9,9,9,0.{number + 1}\n"
        pages.append(as_ada.send(sealed, "submit", content).headers["location"])
        work(site, OPENING, Event(), until_empty=True)
    assert states(site) == ["done", "done", "failed"]
    with site.database.reading() as session:
        (use,) = uses_of(session, session.get_one(Benchmark, sealed))
    assert (use.who, use.evaluations, use.allowed) == ("Ada", 2, 2)
    assert use.optimism == pytest.approx(0.5642, abs=1e-4)  # the larger of two
    # 103 answers for each of a value and its bound: 1 + 103² hypotheses at the second evaluation
    assert use.needed == pytest.approx(-NormalDist().inv_cdf(0.025 / (1 + 103**2)), abs=1e-4)
    assert "2 of 2 evaluations" in as_ada.get(pages[-1]).text


@pytest.mark.slow
def test_a_taken_name_spends_only_the_own_budget(site: Site, as_ada: Browser, sealed: str) -> None:
    thief = make_person(site, "thief", "participant")
    with site.database.writing() as session:
        session.get_one(Account, thief.account).name = "Ada"
    as_thief = signed_in(site, "thief")
    for number in range(3):
        as_thief.send(sealed, "submit", GOOD + f"scan{number},9,9,9,0.{number + 1}\n")
    as_ada.send(sealed, "submit", GOOD)
    work(site, OPENING, Event(), until_empty=True)
    assert states(site) == ["done", "done", "failed", "done"]


def test_the_key_of_a_sealed_set_is_nowhere_in_the_database(
    site: Site, as_ada: Browser, sealed: str
) -> None:
    as_ada.send(sealed, "submit", GOOD)
    work(site, OPENING, Event(), until_empty=True)
    with site.database.writing() as session:
        session.execute(text("SELECT 1"))
    site.database.close()
    whole = b"".join(
        path.read_bytes() for path in site.settings.storage.glob("portal.sqlite*") if path.is_file()
    )
    assert bytes(range(32)) not in whole
    assert bytes(range(32)).hex().encode() not in whole


@needs_bubblewrap
def test_an_algorithm_is_run_and_its_marks_are_scored(
    site: Site, organiser: User, as_ada: Browser, tmp_path: Path
) -> None:
    """Submitted as a folder; other benchmarks refuse it."""
    place = images_set(site.settings.sets / "imaged")
    (place / "seriesuids.csv").write_text("scan-0\nscan-1\nscan-2\n")
    head = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (place / "annotations.csv").write_text(head + "scan-0,1,2,3,4\nscan-1,9,9,3,4\n")
    (place / "annotations_excluded.csv").write_text(head)
    folder = algorithm_folder(tmp_path / "mine")
    packed = Path(shutil.make_archive(str(tmp_path / "mine"), "zip", tmp_path, "mine"))
    assert folder.is_dir()
    files = {"file": ("mine.zip", packed.read_bytes())}
    closed = make_tiny_benchmark(site, organiser, test_set="imaged")
    rules = BenchmarkRules(takes_algorithms=True)
    taking = make_tiny_benchmark(site, organiser, test_set="imaged", rules=rules)
    pages = {benchmark: f"/benchmarks/{benchmark}/submit" for benchmark in (closed, taking)}
    refused = as_ada.post(pages[closed], pages[closed], files=files, name="Mine")
    assert refused.status_code == 422
    assert "is an algorithm, and this benchmark takes marks" in refused.text
    checked = as_ada.post(f"/benchmarks/{taking}/validate", pages[taking], files=files)
    assert "The algorithm can be run" in checked.text
    entry = as_ada.post(pages[taking], pages[taking], files=files, name="Mine").headers["location"]
    work_off(site)
    assert states(site) == ["done"]
    with site.database.reading() as session:
        counts = session.scalars(select(Result)).one().metrics["counts"]["luna16"]
    # one mark a case at (1, 2, 3): a hit in the first, and false in the other two
    assert (counts["hit"], counts["missed"], counts["false_positive"]) == (1, 1, 2)
    assert "done" in as_ada.get(entry).text


@pytest.mark.slow
@needs_bubblewrap
def test_an_algorithm_on_a_sealed_set_discloses_only_feedback(
    site: Site, organiser: User, as_ada: Browser, tmp_path: Path
) -> None:
    """It prints what it sees and writes it next to its marks: neither reaches the submitter."""
    lab = make_lab(tmp_path)
    shutil.rmtree(lab.bundle / "images")
    (lab.bundle / "images").mkdir()
    for number in range(4):
        path = lab.bundle / "images" / f"scan{number}.mhd"
        metaimage.write_volume(small_volume(number), path)
    lab.seal()
    shutil.move(lab.sealed, site.settings.sets / "sealed")
    algorithm_folder(tmp_path / "mine", MARKS + 'echo "SEEN $name" | tee "$2/SEEN.txt"\n')
    packed = Path(shutil.make_archive(str(tmp_path / "mine"), "zip", tmp_path, "mine"))
    rules = BenchmarkRules(takes_algorithms=True)
    sealed = make_tiny_benchmark(site, organiser, test_set="sealed", rules=rules)
    page = f"/benchmarks/{sealed}/submit"
    files = {"file": ("mine.zip", packed.read_bytes())}
    entry = as_ada.post(page, page, files=files, name="Mine").headers["location"]
    assert work(site, OPENING, Event(), until_empty=True) == 1
    assert states(site) == ["done"]
    name = entry.rpartition("/")[2]
    paths = (entry, f"{entry}/progress", f"{entry}/receipt", f"/api/v1/entries/{name}", "/entries")
    texts = "".join(as_ada.get(path).text for path in paths)
    assert "1.000" in texts  # a mark at (1, 2, 3) hits the nodule of every case
    assert "SEEN" not in texts
    assert "scan0" not in texts
    for path in (f"{entry}/report", f"{entry}/report.pdf", f"{entry}/marks.csv"):
        assert as_ada.get(path).status_code == 404
