"""Two real scans and their public reference: from DICOM to a report of ten algorithms."""

import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

from builders.people import write_key
from builders.places import TEST_DATA
from builders.real_scans import plain_scan
from builders.sealed import PEOPLE
from builders.sealed_study import REPORTER
from nodulebench.cli import main
from nodulebench.io.formats import read_reference

pytest.importorskip("cryptography")

SCANS = ("LIDC-IDRI-0001", "LIDC-IDRI-0407")
LUNA16 = TEST_DATA / "luna16"
POLICY = f"""{PEOPLE}{REPORTER}
[reuse]
feedback = "rounded"
metrics = ["luna16.recall"]
protocols = ["luna16"]
minimum_stratum = 1
"""


def run(words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(words.split())
    return int(stopped.value.code or 0)


@pytest.mark.skipif(
    not (LUNA16 / "annotations.csv").is_file(), reason=f"no LUNA16 data at {LUNA16}"
)
def test_commands_make_a_report_of_ten_algorithms_from_real_scans(
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for scan in SCANS:
        original = plain_scan(tmp_path_factory, scan)
        shutil.copytree(original, f"incoming/{scan}", copy_function=os.link)
    for name in ("Ada", "Bo", "Dee"):
        write_key(name, tmp_path)
    assert run("curate incoming --out first") == 0
    table = "--key-table who.keys --key ada.key"
    assert run(f"deidentify --curated first --out clean {table} --no-pixel-check --workers 2") == 0
    assert run("curate clean --out curated --against first/fingerprints.csv") == 0
    assert "listed_pixels" in capsys.readouterr().out  # the same scans under other names
    assert run("curate clean --out curated") == 0
    assert run(f"reference rename {LUNA16} {table} --out reference") == 0
    assert "left out    886 cases" in capsys.readouterr().out
    assert run("bundle reference --curated curated --set-name real --out bag") == 0
    assert run("bundle reference --images clean --out same") == 0
    assert "wrote same: 2 cases, 316 image files" in capsys.readouterr().out
    assert run("verify bag") == 0

    truth = read_reference(Path("bag"))
    nodules = truth.nodules.filter(~pl.col("is_ignored"))
    assert nodules.height == 4
    rows = ["file,developer,alias"]
    for number in range(10):
        hits = nodules.tail(max(1, nodules.height - number // 3)).select(
            pl.col("case_id").alias("seriesuid"),
            *(pl.col(f"{axis}_mm").alias(f"coord{axis.upper()}") for axis in "xyz"),
            probability=pl.lit(0.9 - number / 100),
        )
        hits.write_csv(f"m{number}.csv")
        rows.append(f"m{number}.csv,Company {number},A{number + 1}")
    Path("roster.csv").write_text("\n".join(rows))
    Path("policy.toml").write_text(POLICY)
    assert run("seal bag --key ada.key --policy policy.toml --out sealed") == 0
    score = "evaluate --submissions roster.csv --reference sealed --protocol luna16"
    assert run(f"{score} --key bo.key --out feedback") == 0
    assert run("report sealed --key dee.key --baseline A1 --out study") == 0
    assert run("sign study --key ada.key") == 0
    assert run("verify sealed --key ada.key --public-key ada.key.pub") == 0
    assert run("verify study --public-key ada.key.pub") == 0
    named = json.loads(Path("study/evaluation.json").read_text("utf-8"))["algorithms"]
    assert [entry["name"] for entry in named] == [f"A{number}" for number in range(1, 11)]
    assert "6279.6001" not in Path("study/report.html").read_text("utf-8")
