import json

import pytest

from nodulebench.cli import main


def test_coverage_writes_its_page_in_the_chosen_language(tmp_path, capsys):
    cases, nodules = tmp_path / "seriesuids.csv", tmp_path / "annotations.csv"
    cases.write_text("a\nb\n")
    nodules.write_text("seriesuid,coordX,coordY,coordZ,diameter_mm\na,1,2,3,6.5\n")
    design = tmp_path / "design.toml"
    design.write_text('name = "mine"\n[[rules]]\nname = "many"\nminimum_rows = 5\n')
    out = tmp_path / "out"
    command = ("coverage", tmp_path, "--design", design, "--out", out, "--language", "zh")
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in command])
    assert stopped.value.code == 1
    assert "many  not met             missing: 3 more cases" in capsys.readouterr().out
    assert "还需 3 例" in (out / "coverage.html").read_text()
    (rule,) = json.loads((out / "coverage.json").read_text())["outcomes"]
    assert (rule["required"], rule["missing"]) == ("at least 5 cases", ["3 more cases"])
