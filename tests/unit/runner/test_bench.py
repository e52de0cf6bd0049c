"""Benchmark of algorithms: costs, findings, and which are on the Pareto front."""

from pathlib import Path

import polars as pl
import pytest

from builders.algorithms import MARKS, algorithm_folder, images_set, needs_bubblewrap
from builders.sealed import make_lab
from nodulebench.core.errors import InputError
from nodulebench.core.tables import CASES, NODULES, Reference
from nodulebench.io.bundle import write_reference
from nodulebench.runner.algorithms import Algorithm, read_algorithm
from nodulebench.runner.bench import BenchRow, bench, on_front
from nodulebench.runner.run import RunChoice

FALSE = 'echo "$name,9,9,1,0.5" >> "$2/marks.csv"\nsleep 0.2'


def row(name: str, seconds: float | None, sensitivity: float, rule: str = "r") -> BenchRow:
    return BenchRow(name, rule, 3, 3, seconds, seconds, 10.0, sensitivity, 1.0)


def test_on_the_front_is_what_no_other_is_beyond_by_hand() -> None:
    rows = [row("a", 1.0, 0.5), row("b", 2.0, 0.5), row("c", 3.0, 0.9), row("d", None, 1.0)]
    rows += [row("a", 1.0, 0.5, "other"), row("twin", 1.0, 0.5)]
    assert [row.is_on_front for row in on_front(rows)] == [True, False, True, False, True, True]


def named(folder: Path, name: str, program: str = MARKS) -> Algorithm:
    made = algorithm_folder(folder / name, program)
    manifest = made / "algorithm.toml"
    manifest.write_text(manifest.read_text().replace('"tested"', f'"{name}"'))
    return read_algorithm(made)


@needs_bubblewrap
def test_algorithms_are_run_scored_and_drawn(tmp_path: Path) -> None:
    names = ["scan-0", "scan-1"]
    place = {"x_mm": 1.0, "y_mm": 2.0, "z_mm": 3.0, "diameter_mm": 6.0, "is_ignored": False}
    nodules = pl.DataFrame([{"case_id": name, "nodule_id": "1", **place} for name in names])
    table = CASES.conform(pl.DataFrame({"case_id": names}), "c")
    cases = images_set(tmp_path / "set", 2)
    write_reference(Reference("set", table, NODULES.conform(nodules, "n")), cases)
    chosen = [named(tmp_path, "quick"), named(tmp_path, "slow", MARKS + FALSE)]
    out = tmp_path / "out"
    rows, written = bench(chosen, cases, out, RunChoice(), protocol="luna16", bootstraps=0)
    summary = [(row.algorithm, row.ok, row.sensitivity, row.fp_per_case) for row in rows]
    assert summary == [("quick", 2, 1.0, 0.0), ("slow", 2, 1.0, 1.0)]
    assert rows[0].is_on_front
    assert rows[1].median_seconds is not None
    assert rows[1].median_seconds > 0.2
    costs = pl.read_csv(out / "bench.csv")
    assert costs["algorithm"].to_list() == ["quick", "slow"]
    assert all(path.exists() for path in written)
    assert len([path for path in written if path.suffix == ".svg"]) == 4
    assert (out / "result" / "evaluation.json").is_file()
    (points, *_), _ = bench(chosen[:1], cases, out, RunChoice(), protocol="nifdc-2022")
    assert (points.ok, points.sensitivity, points.fp_per_case, points.is_on_front) == (
        *(2, None, None, False),
    )
    assert points.undefined == (
        "center_hit needs boxes per slice; the submission is a list of points"
    )
    with pytest.raises(InputError, match=r"algorithm 'quick': is given twice"):
        bench([chosen[0], chosen[0]], cases, out, RunChoice())


def test_a_sealed_set_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyrage")
    lab = make_lab(tmp_path)
    lab.seal()
    with pytest.raises(InputError, match="is sealed: each algorithm is run and evaluated"):
        bench([], lab.sealed, tmp_path / "out", RunChoice())
