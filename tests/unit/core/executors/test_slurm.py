"""Jobs of Slurm as workers, where there is a Slurm; elsewhere it is told that there is none."""

import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("dask_jobqueue")

from builders.worker_tasks import slow_double
from nodulebench.core.errors import InputError
from nodulebench.core.executor import ExecutorChoice, open_executor


def _answers() -> bool:
    if shutil.which("sinfo") is None:
        return False
    outcome = subprocess.run(
        ["sinfo", "-h", "-o", "%a"], capture_output=True, text=True, check=False
    )
    return outcome.returncode == 0 and "up" in outcome.stdout


def test_where_no_jobs_can_be_submitted_it_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with (
        pytest.raises(
            InputError, match=r"--executor slurm: needs sbatch.*where jobs are submitted"
        ),
        open_executor(ExecutorChoice("slurm"), 2),
    ):
        pass


@pytest.mark.skipif(not _answers(), reason="no Slurm answers here")
def test_a_job_that_is_cancelled_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = {}
    with open_executor(ExecutorChoice("slurm", 2), 1) as executor:
        (certificates,) = tmp_path.iterdir()
        assert certificates.stat().st_mode & 0o077 == 0
        for number, result in executor.map(slow_double, range(40)):
            results[number] = result
            if len(results) == 10:
                asked = ["squeue", "-h", "-o", "%i"]
                jobs = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
                subprocess.run(["scancel", jobs.split()[0]], check=True)
    assert results == {number: 2 * number for number in range(40)}
    assert list(tmp_path.iterdir()) == []
