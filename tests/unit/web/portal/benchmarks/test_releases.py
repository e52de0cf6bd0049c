"""Released files can be downloaded whole or in parts, with digests; no others can."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest
from sqlalchemy import select

from builders.portal import Browser, make_tiny_benchmark, work_off
from builders.sealed import make_lab
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.benchmarks.releases import digest_releases
from nodulebench.web.portal.database.models import Release
from nodulebench.web.portal.site import Site

SCAN = bytes(range(256)) * 40


@pytest.fixture
def place(site: Site) -> Path:
    """A download folder with a file and a subset of two scans."""
    folder = site.downloads
    (folder / "subset0").mkdir(parents=True)
    (folder / "subset0" / "a.raw").write_bytes(SCAN)
    (folder / "subset0" / "b.raw").write_bytes(SCAN[::-1])
    (folder / "extra.csv").write_text("seriesuid,coordX\n")
    return folder


def release(browser: Browser, benchmark: str, name: str, kind: str = "scans"):
    page = f"/benchmarks/{benchmark}"
    return browser.post(f"{page}/releases", page, file=name, kind=kind)


def listed(browser: Browser, benchmark: str) -> dict[str, dict]:
    files = browser.get(f"/api/v1/benchmarks/{benchmark}/files").json()
    return {file["name"]: file for file in files}


@pytest.mark.usefixtures("place")
def test_a_released_file_comes_whole_and_in_parts(
    site: Site, as_organiser: Browser, as_ada: Browser, benchmark: str
) -> None:
    assert release(as_organiser, benchmark, "subset0").is_redirect
    path = listed(as_ada, benchmark)["subset0/a.raw"]["path"]
    assert as_ada.get(path).status_code == 409  # no digest yet
    work_off(site)
    released = listed(as_ada, benchmark)
    digest = "sha256:" + hashlib.sha256(SCAN).hexdigest()
    assert released["subset0/a.raw"]["digest"] == digest
    whole = as_ada.get(path)
    assert whole.content == SCAN
    assert whole.headers["etag"] == f'"{digest}"'
    assert "attachment" in whole.headers["content-disposition"]
    part = {"Range": "bytes=10000-", "If-Range": f'"{digest}"'}
    rest = as_ada.client.get(path, headers=part)
    assert (rest.status_code, rest.content) == (206, SCAN[10000:])
    other = as_ada.client.get(path, headers={**part, "If-Range": '"sha256:0"'})
    assert (other.status_code, other.content) == (200, SCAN)
    assert as_ada.client.get(path, headers={"If-None-Match": f'"{digest}"'}).status_code == 304
    sums = as_ada.get(f"/benchmarks/{benchmark}/files/SHA256SUMS").text.splitlines()
    assert sums[0] == f"{hashlib.sha256(SCAN).hexdigest()}  subset0/a.raw"
    assert len(sums) == 2
    page = Browser(site).get(f"/benchmarks/{benchmark}").text
    assert "subset0/a.raw" in page
    assert Browser(site).get(path).headers["location"].startswith("/sign-in")
    actions = signed_actions(site)
    assert actions.count("downloaded") == 2  # once from the beginning, once again


def signed_actions(site: Site) -> list[str]:
    from nodulebench.web.portal.database.event_log import check_log

    with site.database.reading() as session:
        return [event.action for event in check_log(session, site.key).events]


@pytest.mark.slow
def test_ended_changed_or_foreign_files_are_not_sent(
    site: Site, as_organiser: Browser, as_ada: Browser, benchmark: str, place: Path
) -> None:
    for name in ("subset0", "extra.csv"):
        release(as_organiser, benchmark, name, "other")
    release(as_organiser, benchmark, "subset0")  # twice is once
    work_off(site)
    paths = {name: file["path"] for name, file in listed(as_ada, benchmark).items()}
    assert len(paths) == 3
    os.utime(place / "extra.csv", (1, 1))
    assert as_ada.get(paths["extra.csv"]).status_code == 409
    (place / "subset0" / "a.raw").unlink()
    (place / "subset0" / "a.raw").symlink_to(site.settings.sets / "tiny" / "annotations.csv")
    assert as_ada.get(paths["subset0/a.raw"]).status_code == 409
    other = make_tiny_benchmark(site, User(account="x", roles=frozenset({"organiser"})))
    assert as_ada.get(paths["subset0/b.raw"].replace(benchmark, other)).status_code == 404
    page = f"/benchmarks/{benchmark}"
    as_organiser.post(f"{page}/releases/end", page, file="subset0")
    assert as_ada.get(paths["subset0/b.raw"]).status_code == 404
    assert set(listed(as_ada, benchmark)) == {"extra.csv"}


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    "name",
    ["..", "../test-sets", "/etc/passwd", "subset0/../../portal.key", "subset0/a.raw", ".", ""],
)
def test_only_names_of_the_folder_can_be_released(
    as_organiser: Browser, benchmark: str, name: str
) -> None:
    assert release(as_organiser, benchmark, name).status_code == 404
    assert listed(as_organiser, benchmark) == {}


@pytest.mark.parametrize("inside", [True, False])
def test_links_are_never_followed(
    site: Site, as_organiser: Browser, benchmark: str, place: Path, inside: bool
) -> None:
    link = place / "subset0" / "key" if inside else place / "key"
    link.symlink_to(site.settings.storage / "portal.key")
    assert release(as_organiser, benchmark, "subset0" if inside else "key").status_code == 409
    link.unlink()
    link.symlink_to(site.settings.sets)
    assert release(as_organiser, benchmark, "subset0" if inside else "key").status_code == 409
    assert listed(as_organiser, benchmark) == {}


@pytest.mark.slow
def test_nothing_of_a_sealed_set_is_released(
    site: Site, as_organiser: Browser, as_ada: Browser, benchmark: str, place: Path, tmp_path: Path
) -> None:
    """Not the set itself, not a folder within it, nor a copy or hard link of one of its scans."""
    lab = make_lab(tmp_path)
    lab.seal()
    sealed = site.settings.sets / "sealed"
    shutil.move(lab.sealed, sealed)
    shutil.copytree(sealed, place / "whole")
    shutil.copytree(sealed, place / "below" / "deep" / "set")
    for name in ("whole", "below"):
        answer = release(as_organiser, benchmark, name)
        assert answer.status_code == 409
        assert "whose files are not shared" in answer.text
    scan = next((sealed / "data" / "images").rglob("*.dcm"))
    shutil.copy(scan, place / "harmless.dcm")
    os.link(scan, place / "linked.dcm")
    for name in ("harmless.dcm", "linked.dcm", "extra.csv"):
        assert release(as_organiser, benchmark, name).is_redirect
    waiting = [file["path"] for file in listed(as_ada, benchmark).values()]
    assert [as_ada.get(path).status_code for path in waiting] == [409] * 3
    assert digest_releases(site) == 3
    assert set(listed(as_ada, benchmark)) == {"extra.csv"}
    assert sorted(as_ada.get(path).status_code for path in waiting) == [200, 404, 404]
    with site.database.reading() as session:
        ended = session.scalars(select(Release).where(Release.ended_at.is_not(None))).all()
    assert {release.file for release in ended} == {"harmless.dcm", "linked.dcm"}
    assert signed_actions(site).count("release_refused") == 2


def test_candidates_can_be_downloaded_and_plans_cannot(
    as_organiser: Browser, as_ada: Browser, benchmark: str
) -> None:
    page = f"/benchmarks/{benchmark}"
    folds = {"file": ("f.csv", b"seriesuid,fold\n1.2.3.1,0\n1.2.3.2,1\n1.2.3.3,1\n")}
    criteria_text = b'metric = "cpm"\nrule = "luna16"\ncomparison = ">="\nlimit = 0.5\n'
    criteria = b'name = "x"\n[[criteria]]\n' + criteria_text
    as_organiser.post(f"{page}/rules", page, files=folds, kind="folds")
    as_organiser.post(f"{page}/rules", page, files={"file": ("c.toml", criteria)}, kind="plan")
    got = as_ada.get(f"{page}/rules/folds")
    assert got.status_code == 200
    assert got.headers["etag"].strip('"') == "sha256:" + hashlib.sha256(got.content).hexdigest()
    for kind in ("plan", "candidates", "../cases", "%2e%2e%2fcases.parquet"):
        assert as_ada.get(f"{page}/rules/{kind}").status_code in (303, 404), kind
    assert "plan-1.json" not in as_ada.get(page).text
