"""A folder of phantoms and odd files: what is written, and that a stopped run goes on."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pydicom
import pytest

from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation.curate import JOURNAL, curate, open_journal, series_key
from nodulebench.curation.duplicates import Fingerprint, KnownSet
from nodulebench.curation.header_facts import vendor_of
from nodulebench.curation.page import curation_page
from nodulebench.curation.service import exclusions_table, write_curation
from nodulebench.i18n.translator import translator
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.dicom.header import SeriesHeader
from nodulebench.io.dicom.series import group_series
from nodulebench.io.dicom.slices import read_slices
from nodulebench.io.dicom.volumes import write_volume
from nodulebench.phantom.test_set import make_cases

pytestmark = pytest.mark.slow

LIMITS = Limits(smallest_matrix=64)
WRITTEN = {
    "case_files.csv",
    "cases.parquet",
    "curation.html",
    "curation.json",
    "exclusions.csv",
    "fingerprints.csv",
    "flow.svg",
}


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> Path:
    """Two patients; the second also reconstructed again and copied; and files of other kinds."""
    folder = tmp_path_factory.mktemp("archive")
    for case in make_cases(2, 5, matrix=96):
        write_volume(case.scan.volume, folder / case.case_id, case.header)
    first, second = sorted(folder.iterdir())
    shutil.copytree(second, folder / "again")
    smoothed = make_smoothed(case.scan.volume)
    header = type(case.header)(
        **{
            **{name: getattr(case.header, name) for name in case.header.__dataclass_fields__},
            "series_uid": "2.25.77",
        }
    )
    write_volume(smoothed, folder / "smoothed", header)
    (folder / "README").write_text("not an image")
    (folder / "broken.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"\xff" * 99)
    localizer = folder / "localizer"
    localizer.mkdir()
    data = pydicom.dcmread(next(iter(sorted(first.iterdir()))))
    data.ImageType = ["ORIGINAL", "PRIMARY", "LOCALIZER"]
    data.SeriesInstanceUID, data.SOPInstanceUID = "2.25.99", "2.25.98"
    data.save_as(localizer / "IM1")
    return folder


def make_smoothed(volume: Volume) -> Volume:
    from scipy import ndimage

    hu = ndimage.gaussian_filter(volume.hu.astype(np.float32), (0, 0.5, 0.5))
    return Volume(np.rint(hu).astype(np.int16), volume.geometry)


@pytest.fixture(scope="module")
def curation(archive, tmp_path_factory):
    out = tmp_path_factory.mktemp("curated")
    result = curate(archive, out, limits=LIMITS)
    write_curation(result, out)
    return result, out


def decided(result):
    return {
        Path(series.files[0]).parent.name: series.reasons[0].code if series.reasons else "admitted"
        for series in result.series
    }


def test_every_series_is_admitted_or_excluded_by_its_first_reason(curation):
    result, _ = curation
    assert decided(result) == {
        "again": "admitted",
        "localizer": "localizer",
        "phantom-0001": "admitted",
        "phantom-0002": "duplicate_uid",
        "smoothed": "near_duplicate",
    }
    assert [
        (Path(other_file.path).name, other_file.is_damaged) for other_file in result.other_files
    ] == [
        ("README", False),
        ("broken.dcm", True),
    ]


def test_the_files_say_the_same(curation):
    result, out = curation
    assert {path.name for path in out.iterdir()} == {*WRITTEN, JOURNAL}
    cases = pl.read_parquet(out / "cases.parquet")
    assert CASES.conform(cases, "cases").height == 2
    assert cases["case_id"].to_list() == [series.uid for series in result.admitted]
    assert cases["size_x"].to_list() == [96, 96]
    assert cases["sex"].is_in(["F", "M"]).all()
    assert cases["vendor"].to_list() == [vendor_of(name) for name in cases["manufacturer"]]
    assert cases["tube_voltage_kv"].is_between(80, 140).all()
    summary_file = json.loads((out / "curation.json").read_text())
    assert (summary_file["series"], summary_file["admitted"]) == (5, 2)
    assert summary_file["excluded"] == {"duplicate_uid": 1, "localizer": 1, "near_duplicate": 1}
    assert (summary_file["unreadable_files"], summary_file["other_files"]) == (1, 1)
    rows = pl.read_csv(out / "exclusions.csv")
    assert rows.equals(exclusions_table(result).with_columns(pl.col("series_uid")))
    assert rows.filter(code="localizer")["files"].to_list() == ["localizer/IM1"]
    slices = pl.read_csv(out / "case_files.csv", schema_overrides={"case_id": pl.String})
    assert slices.height == cases["size_z"].sum()


def test_case_files_follow_the_slices_from_the_feet(curation, archive):
    _, out = curation
    slices = pl.read_csv(out / "case_files.csv", schema_overrides={"case_id": pl.String})
    (_, first), *_ = slices.group_by("case_id", maintain_order=True)
    heights = [
        float(pydicom.dcmread(archive / name, stop_before_pixels=True).ImagePositionPatient[2])
        for name in first["file"]
    ]
    assert heights == sorted(heights)
    assert first["slice_index"].to_list() == list(range(first.height))


def test_the_page_shows_every_series_and_needs_no_network(curation):
    result, out = curation
    page = (out / "curation.html").read_text()
    assert page.count("<article") == 5
    assert page.count("data:image/png;base64,") == sum(
        len(series.pictures) for series in result.series
    )
    assert "2 of 5 series are admitted as cases." in page
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org", "")
    assert "3 CT scans" not in page
    flow = (out / "flow.svg").read_text()
    assert flow.startswith("<svg xmlns")
    for text in ("5 series found", "1 localizer", "4 CT scans", "2 admitted as cases"):
        assert text in flow
        assert text in page


def test_a_second_run_reads_no_pixels_and_says_the_same(curation, archive):
    result, out = curation
    before = (out / JOURNAL).read_bytes()
    calls = []
    again = curate(archive, out, limits=LIMITS, progress=lambda *args: calls.append(args))
    assert [call for call in calls if call[0] == "examining series"] == [("examining series", 5, 5)]
    assert again == result
    assert (out / JOURNAL).read_bytes() == before


def test_a_check_of_another_package_excludes_and_is_not_passed_over_by_the_journal(
    curation, archive, tmp_path
):
    result, out = curation
    assert result.admitted
    package = tmp_path / "package"
    about = package / "strict-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strict\nVersion: 1.0\n")
    points = "[nodulebench.admission_checks]\nnever = strict_checks:never\n"
    (about / "entry_points.txt").write_text(points)
    (package / "strict_checks.py").write_text(
        "from nodulebench.curation.admission_checks import Reason\n"
        "def never(subject):\n"
        "    '''No series is good enough.'''\n"
        "    return Reason('is not good enough')\n"
    )
    again = shutil.copytree(out, tmp_path / "again")
    program = (
        "from pathlib import Path\n"
        "from nodulebench.curation.admission_checks import Limits\n"
        "from nodulebench.curation.curate import curate\n"
        "if __name__ == '__main__':\n"
        f"    made = curate(Path({str(archive)!r}), Path({str(again)!r}),\n"
        "        limits=Limits(smallest_matrix=64))\n"
        "    print(len(made.admitted), sum(r.code == 'never' for s in made.series"
        " for r in s.reasons))\n"
    )
    (tmp_path / "run.py").write_text(program)
    path = os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(tmp_path / "run.py")],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["0", "4"]  # the fifth series is a localizer and asked no more


def test_other_limits_are_examined_again(curation, archive):
    _, out = curation
    strict = curate(archive, out, limits=Limits(smallest_matrix=128))
    assert decided(strict)["phantom-0001"] == "small_matrix"


def test_a_waived_reason_is_reported_but_does_not_exclude(archive, tmp_path):
    limits = Limits(smallest_matrix=128, waived=("small_matrix", "near_duplicate"))
    result = curate(archive, tmp_path, limits=limits)
    assert decided(result)["phantom-0001"] == "admitted"
    assert decided(result)["smoothed"] == "admitted"
    waived = {
        Path(series.files[0]).parent.name: [reason.code for reason in series.waived]
        for series in result.admitted
    }
    assert waived["phantom-0001"] == ["small_matrix"]
    assert waived["smoothed"] == ["small_matrix", "near_duplicate"]
    assert "waived by the design" in curation_page(result)


def test_scans_in_a_list_of_another_set_are_excluded(archive, curation):
    result, out = curation
    known = KnownSet("other")
    known.add(Fingerprint(result.admitted[1].uid))
    again = curate(archive, out, limits=LIMITS, known=[known])
    assert decided(again)["phantom-0001"] == "listed_uid"


def test_a_file_and_the_output_folder_are_refused_as_input(tmp_path):
    with pytest.raises(InputError, match=r"is not a folder\. Give a folder of DICOM files\."):
        curate(tmp_path / "nothing", tmp_path / "out")
    with pytest.raises(InputError, match="is the folder that is read"):
        curate(tmp_path, tmp_path)


def test_links_are_followed_once_and_unreachable_folders_are_reported(tmp_path, monkeypatch):
    archive, elsewhere = tmp_path / "archive", tmp_path / "elsewhere"
    (archive / "locked").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "note").write_text("not an image")
    (archive / "linked").symlink_to(elsewhere)
    (elsewhere / "circle").symlink_to(archive)
    (archive / "lost.dcm").symlink_to(tmp_path / "nowhere")
    os.mkfifo(archive / "pipe")
    scandir = os.scandir

    def refuse(place):
        if str(place).endswith("locked"):
            raise PermissionError(13, "Permission denied", place)
        return scandir(place)

    monkeypatch.setattr(os, "scandir", refuse)
    result = curate(archive, tmp_path / "out")
    exclusions = exclusions_table(result).select("files", "code", "reason").rows()
    assert exclusions == [
        ("linked/note", "other_file", "is not DICOM"),
        ("locked", "unreadable", "cannot be opened (Permission denied)"),
        ("lost.dcm", "unreadable", exclusions[2][2]),
    ]
    assert "No such file or directory" in exclusions[2][2]


def test_a_series_whose_file_is_gone_has_a_different_key(tmp_path):
    volume = make_volume(np.zeros((2, 16, 16), dtype=np.int16), spacing_mm=(0.7, 0.7, 1.0))
    write_volume(volume, tmp_path, SeriesHeader("1.2.3", "1.2.4", "1.2.5", "patient"))
    (series,) = group_series(header for path in tmp_path.iterdir() for header in slices_of(path))
    before = series_key(series, LIMITS)
    Path(series.files[0]).unlink()
    assert series_key(series, LIMITS) != before


def slices_of(path):
    slices = read_slices(path)
    assert isinstance(slices, list)
    return slices


def test_two_runs_do_not_write_into_one_folder(tmp_path):
    (tmp_path / "in").mkdir()
    with (
        open_journal(tmp_path / "out"),
        pytest.raises(InputError, match=r"out: is being written by another process\. Wait"),
    ):
        curate(tmp_path / "in", tmp_path / "out")
    assert curate(tmp_path / "in", tmp_path / "out").series == ()


def test_an_empty_folder_gives_empty_tables(tmp_path):
    (tmp_path / "in").mkdir()
    result = curate(tmp_path / "in", tmp_path / "out")
    write_curation(result, tmp_path / "out")
    assert pl.read_parquet(tmp_path / "out" / "cases.parquet").height == 0
    page = (tmp_path / "out" / "curation.html").read_text()
    assert "0 of 0 series" in page
    assert "Reasons" not in page


def test_the_page_shows_every_limit_and_who_set_it(tmp_path):
    (tmp_path / "in").mkdir()
    limits = Limits(smallest_matrix=256, waived=("gantry_tilt",))
    page = curation_page(curate(tmp_path / "in", tmp_path / "out", limits=limits))
    rows = re.findall(r'<td class="words">(.*?)</td>', page)
    limits_shown = dict(zip(rows[::3], zip(rows[1::3], rows[2::3], strict=True), strict=True))
    assert set(limits_shown) == {name.replace("_", " ") for name in Limits.model_fields}
    assert limits_shown["smallest matrix"] == ("256", "set by the design")
    assert limits_shown["largest thickness mm"] == ("3", "")
    assert limits_shown["waived"] == ("gantry_tilt", "set by the design")


def test_the_page_speaks_chinese(curation, tmp_path):
    result, _ = curation
    write_curation(result, tmp_path, "zh")
    page = (tmp_path / "curation.html").read_text()
    assert '<html lang="zh' in page
    shown = set(
        re.findall(r">([^<>]+)<", re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S))
    )
    assert shown & set(translator("en").texts("curated.").values()) == set()
    codes = {reason.code for series in result.series for reason in series.reasons}
    assert shown & ({translator("en").word(code) for code in codes} - codes) == set()
    assert {translator("zh").word(code) for code in codes} <= shown
    assert f"找到 {len(result.series)} 个序列" in (tmp_path / "flow.svg").read_text()


def test_the_compared_lists_are_reported(tmp_path):
    (tmp_path / "in").mkdir()
    lidc = KnownSet("lidc")
    lidc.add(Fingerprint("1.2.3"))
    result = curate(tmp_path / "in", tmp_path / "out", known=[lidc])
    write_curation(result, tmp_path / "out")
    summary_file = json.loads((tmp_path / "out" / "curation.json").read_text())
    assert summary_file["against"] == [{"name": "lidc", "scans": 1}]
    assert "Scans in the list lidc" in (tmp_path / "out" / "curation.html").read_text()


def test_a_journal_with_an_unfinished_or_foreign_line_goes_on(curation, archive, tmp_path):
    result, out = curation
    lines = (out / JOURNAL).read_bytes().splitlines(keepends=True)
    (tmp_path / JOURNAL).write_bytes(b"{}\n" + lines[0] + b"nothing\n" + lines[1][:-40])
    with open_journal(tmp_path) as journal:
        assert len(journal.known) == 1
    assert (tmp_path / JOURNAL).read_bytes().endswith(b"nothing\n")
    assert curate(archive, tmp_path, limits=LIMITS) == result


RUN = """
import os
import signal
import sys
from pathlib import Path
from nodulebench.curation.admission_checks import Limits
from nodulebench.curation import curate as stage
from nodulebench.curation.service import write_curation
from nodulebench.curation.curate import Journal


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(lines, is_cut):
    def add(self, key, examined, whole=Journal.add):
        whole(self, key, examined)
        if len(self.known) == lines:
            if is_cut:  # as if the last line had not been written to its end
                self._file.truncate(self._file.tell() - 40)
            die()
    return add


if __name__ == "__main__":
    archive, out, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    if moment == "headers":
        stage.group_series = die
    elif moment == "written":
        stage.find_duplicates = die
    elif moment != "never":
        Journal.add = die_after(int(moment.rstrip("-")), moment.endswith("-"))
    write_curation(stage.curate(archive, out, limits=Limits(smallest_matrix=64)), out)
"""
KILLED = {"headers": 0, "2-": 1, "written": 5}
"""Where a run is killed -> how many whole lines its journal has then; "-": in the middle of one."""


def test_a_run_killed_at_any_stage_is_completed_by_the_next(curation, archive, tmp_path):
    """Killed after the headers, after and within lines of the journal, and before the tables."""
    _, whole = curation
    out, script = tmp_path / "out", tmp_path / "run.py"
    script.write_text(RUN)
    command = [sys.executable, str(script), str(archive), str(out)]
    for moment, lines in KILLED.items():
        process = subprocess.run([*command, moment], check=False)
        assert process.returncode == -signal.SIGKILL, moment
        assert journal_lines(out) == lines, moment
        assert not (out / "curation.json").exists()
    subprocess.run([*command, "never"], check=True)
    assert journal_lines(out) == 5
    for name in WRITTEN:
        assert (out / name).read_bytes() == (whole / name).read_bytes(), name


def journal_lines(out: Path) -> int:
    path = out / JOURNAL
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def test_names_that_are_not_text_are_shown_by_their_bytes(archive, tmp_path):
    source = archive / "smoothed"
    place = tmp_path / "archive"
    place.mkdir()
    for number, path in enumerate(sorted(source.iterdir())):
        shutil.copy(path, place / f"im\udcff{number:03d}")
    (place / "second\udcfe.dcm").write_bytes(b"no DICOM")
    shutil.copy(place / "im\udcff000", place / "twice\udcfd")
    result = curate(place, tmp_path / "out", limits=LIMITS)
    write_curation(result, tmp_path / "out")
    exclusions = pl.read_csv(tmp_path / "out" / "exclusions.csv")
    assert exclusions["reason"][0].startswith("im\\xff000 occurs twice")
    assert exclusions["files"].to_list() == ["im\\xff000;twice\\xfd", "second\\xfe.dcm"]
    assert "second\\xfe.dcm" in (tmp_path / "out" / "curation.html").read_text(encoding="utf-8")
