"""A key table is shared: concurrent runs lose no one, and it is created once."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from builders.identified_slice import PATIENT, identified_slice, write_slice
from nodulebench.core.errors import InputError
from nodulebench.curation.deidentify.key_table import open_key_table, read_key_table
from nodulebench.curation.deidentify.service import DeidentifyOptions, deidentify_folder
from nodulebench.io.atomic import LEFTOVER
from nodulebench.security.vault import Secret

pytest.importorskip("cryptography")
SECRET = Secret("key file", bytes(range(32)))
TESTS = Path(__file__).parents[3]


def test_a_run_within_a_run_loses_no_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_slice(identified_slice(1, patient=name), tmp_path / name / "1.dcm")
    keys = tmp_path / "keys"

    def meanwhile(*_: object) -> None:
        deidentify_folder(
            DeidentifyOptions(folder=tmp_path / "two", out=tmp_path / "out two", key_table=keys),
            SECRET,
        )

    deidentify_folder(
        DeidentifyOptions(folder=tmp_path / "one", out=tmp_path / "out", key_table=keys),
        SECRET,
        progress=meanwhile,
    )
    rows = read_key_table(keys, SECRET)
    assert {row["patient"] for row in rows} == {"one"}  # one series: the latest row counts
    slices = [
        identified_slice(1, patient=name, date=date)
        for name, date in (("a", "20210101"), ("b", "20210102"))
    ]
    for name, data in zip(("one", "two"), slices, strict=True):
        write_slice(data, tmp_path / name / "1.dcm")
    deidentify_folder(
        DeidentifyOptions(folder=tmp_path / "one", out=tmp_path / "out", key_table=keys),
        SECRET,
        progress=meanwhile,
    )
    assert {row["patient"] for row in read_key_table(keys, SECRET)} == {"one", "a", "b"}


def test_a_table_is_created_once_by_concurrent_runs(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: open_key_table(tmp_path / "keys", SECRET), range(16)))
    assert len({table.vault.data_key for table in made}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]


def test_rows_added_at_the_same_time_are_all_stored(tmp_path: Path) -> None:
    table = open_key_table(tmp_path / "keys", SECRET)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: table.add([{"series": str(number)}]), range(24)))
    assert len(read_key_table(tmp_path / "keys", SECRET)) == 24


def test_another_table_in_its_place_is_not_written_over(tmp_path: Path) -> None:
    table = open_key_table(tmp_path / "keys", SECRET)
    (tmp_path / "keys").unlink()
    open_key_table(tmp_path / "keys", SECRET).add([{"series": "1"}])
    with pytest.raises(InputError, match="sealed in another vault"):
        table.add([{"series": "2"}])
    assert read_key_table(tmp_path / "keys", SECRET) == [{"series": "1"}]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full"])  # killed, too: benchmarks/broken_runs.py
def test_stopped_at_any_operation_the_next_run_completes_it(tmp_path: Path, how: str) -> None:
    for number in (1, 2):
        write_slice(identified_slice(number), tmp_path / "in" / f"{number}.dcm")
    ran = subprocess.run(
        [sys.executable, "-m", "builders.killed_deidentify", str(tmp_path), how, "4"],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS,
    )
    assert ran.returncode == 0, ran.stderr
    outcomes = json.loads(ran.stdout)
    assert len(outcomes) > 4
    for outcome in outcomes:
        assert set(outcome["stopped"]) <= set(
            outcome["slices"]
        )  # nothing half-written is ever seen
        assert len(outcome.pop("slices")) == 2
        left = [name for name in outcome.pop("left") if not LEFTOVER.fullmatch(name)]
        assert (outcome["problems"], outcome["patients"], left) == ([], [PATIENT], [])
