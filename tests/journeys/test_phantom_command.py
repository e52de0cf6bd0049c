import pytest

from nodulebench.cli import main
from nodulebench.io import bundle
from nodulebench.io.images import metaimage


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


def test_phantom_makes_a_test_set_that_can_be_scored(tmp_path, capsys):
    out = tmp_path / "set"
    assert run("phantom", out, "--count", 2, "--seed", 4, "--matrix", 64) == 0
    lines = capsys.readouterr().out.splitlines()
    reference = bundle.read_reference(out)
    assert lines[-1] == f"wrote 2 scans with {reference.nodules.height} nodules to {out}"
    assert lines[0].startswith("phantom-0001: 64 x 64 x ")
    volume = metaimage.read_volume(out / "images" / "phantom-0001.mhd")
    assert volume.shape[1:] == (64, 64)
    marks = tmp_path / "perfect.csv"
    rows = reference.nodules.select(
        seriesuid="case_id", coordX="x_mm", coordY="y_mm", coordZ="z_mm"
    )
    marks.write_text(
        "seriesuid,coordX,coordY,coordZ,probability\n"
        + "".join(f"{','.join(map(str, row))},0.9\n" for row in rows.rows())
    )
    result = tmp_path / "result"
    assert run("evaluate", marks, "--reference", out, "--out", result, "--bootstraps", 5) == 0
    assert (result / "evaluation.json").is_file()


def test_a_matrix_out_of_range_is_wrong_usage(tmp_path):
    assert run("phantom", tmp_path / "set", "--matrix", 10) == 2
