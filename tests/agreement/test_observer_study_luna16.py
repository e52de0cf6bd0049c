"""LUNA16's observer study began with 222 false positives: 0.25 per scan of 888 scans."""

from pathlib import Path

from nodulebench.annotation.observer_selection import SelectOptions, select_files


def test_a_quarter_per_scan_of_a_public_submission_is_222_marks(
    luna16_data: Path, tmp_path: Path
) -> None:
    marks = luna16_data / "submissions" / "deeplung_dpn26_888.csv.gz"
    options = SelectOptions(marks=marks, reference=luna16_data, out=tmp_path / "study", rate=0.25)
    selection = select_files(options)
    assert selection.flow["false_positives"] == selection.suspects.height == 222
    assert selection.suspects["score"].is_sorted(descending=True)
