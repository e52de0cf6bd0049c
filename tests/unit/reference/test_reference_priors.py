from pathlib import Path

from click.testing import CliRunner

from nodulebench import read_reference
from nodulebench.cli import nodulebench

TRUTH = """case_id,nodule_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm,density
a,n1,3,1.5,10,20,7,7,solid
a,n2,9,4.5,10,20,9,9,solid
a,n3,12,6,10,20,5,5,solid
"""
PRIORS = """case_id,nodule_id,date,prior_date,prior_diameter_mm
a,n1,2026-01-01,2025-07-01,
a,n2,2026-01-01,2025-07-01,6.5
"""


def test_the_command_classifies_nodules_and_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "truth.csv").write_text(TRUTH)
    (tmp_path / "priors.csv").write_text(PRIORS)
    out = tmp_path / "classified"
    files = [str(tmp_path / name) for name in ("truth.csv", "priors.csv")]
    ran = CliRunner().invoke(nodulebench, ["reference", "priors", *files, "--out", str(out)])
    assert ran.exit_code == 0
    assert "change    growing 1, new 1" in ran.output or "change    new 1, growing 1" in ran.output
    nodules = read_reference(out).nodules
    assert nodules.select("change", "growth_mm", "category").rows() == [
        ("new", None, "4A"),
        ("growing", 2.5, "4B"),
        (None, None, None),
    ]
