"""nodulebench report on the command line: what it writes, and how it refuses."""

import subprocess
import sys
from pathlib import Path

import pytest

from builders.made_up import write_made_up_result


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nodulebench", "report", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("command") / "out"
    write_made_up_result(out, cases=12, nodules=60)
    return out


def test_developers_copy_is_written_elsewhere(folder: Path, tmp_path: Path) -> None:
    done = run(folder, "--for", "developer", "--algorithm", "eager", "--out", tmp_path / "send")
    assert done.returncode == 0, done.stderr
    page = tmp_path / "send" / "report-developer-eager.html"
    assert f"wrote {page}" in done.stdout
    assert "case0" not in page.read_text(encoding="utf-8")


def test_chinese_report_stands_beside_the_english_one(folder: Path) -> None:
    done = run(folder, "--language", "zh")
    assert done.returncode == 0, done.stderr
    assert "主要指标" in (folder / "report-zh.html").read_text(encoding="utf-8")
    assert "Key figures" in (folder / "report.html").read_text(encoding="utf-8")


def test_problem_with_the_data_is_one_line_and_exit_1(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {tmp_path / 'evaluation.json'}: is not there.")
    assert "Traceback" not in done.stderr


def test_wrong_usage_is_exit_2(folder: Path) -> None:
    done = run(folder, "--language", "fr")
    assert done.returncode == 2
    assert "'en', 'zh'" in done.stderr
