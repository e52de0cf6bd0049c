import sys

import numpy as np
import polars as pl
import pytest
import torch

from builders.made_up_chest import made_up_chest
from builders.places import ROOT
from nodulebench.cli import main
from nodulebench.detection.networks import NETWORKS
from nodulebench.detection.networks.cards import ModelCard
from nodulebench.detection.networks.weights import write_weights
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io.dicom import volumes as dicom_volume
from nodulebench.io.dicom.header import SeriesHeader, uid_from
from nodulebench.io.images import metaimage, nifti

DETECTOR = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from builders.made_up_chest import {name}
from nodulebench.io.images.case_images import read_case
marks = {name}(read_case(Path(sys.argv[1])))
rows = [f"a,{{x}},{{y}},{{z}},{{s}}" for (x, y, z), s in zip(marks.center_mm, marks.score)]
head = "seriesuid,coordX,coordY,coordZ,probability"
(Path(sys.argv[2]) / "marks.csv").write_text("\\n".join([head, *rows]) + "\\n")
"""


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


@pytest.fixture
def case(tmp_path):
    path = tmp_path / "chest.mhd"
    metaimage.write_volume(made_up_chest(), path)
    return path


def detector(tmp_path, name):
    script = tmp_path / f"{name}.py"
    tests = str(ROOT / "tests")
    script.write_text(DETECTOR.format(tests=tests, name=name))
    return f"{sys.executable} {script} {{case}} {{out}}"


@pytest.mark.parametrize("image", ["metaimage", "dicom"])
def test_any_program_is_tested_by_its_command(tmp_path, case, capsys, image):
    out = tmp_path / "out"
    command = detector(tmp_path, "faithful")
    code = run(
        "robustness", command, case, "--out", out, "--test", "shift", "--image-format", image
    )
    assert code == 0
    lines = capsys.readouterr().out.splitlines()
    assert (
        lines[0] == "pass        shift          the patient is moved: marks move with the patient"
    )
    assert lines[1].strip() == "4 of 4 and 4 marks agree (1.00), at least 0.99"
    assert lines[-1] == f"1 of 1 relations hold for {command}"
    assert pl.read_csv(out / "robustness.csv")["verdict"].to_list() == ["pass"]


def test_a_broken_relation_ends_the_command_with_1(tmp_path, case, capsys):
    command = detector(tmp_path, "without_origin")
    assert run("robustness", command, case, "--test", "shift") == 1
    assert capsys.readouterr().out.startswith("FAIL        shift ")


def test_a_command_that_fails_is_reported_with_its_last_line(tmp_path, case, capsys):
    script = tmp_path / "broken.py"
    script.write_text("raise SystemExit('no licence')")
    command = f"{sys.executable} {script} {{case}} {{out}}"
    assert run("robustness", command, case, "--test", "shift") == 1
    assert capsys.readouterr().err == (
        f"error: command '{sys.executable}': ended with 1; its last line: no licence\n"
    )


def test_a_command_without_placeholders_and_a_missing_one_are_reported(case, capsys):
    assert run("robustness", "find {case}", case) == 1
    assert "lacks {out}" in capsys.readouterr().err
    assert run("robustness", "/nowhere/find {case} {out}", case, "--test", "shift") == 1
    assert "'/nowhere/find': cannot be started: No such file" in capsys.readouterr().err


def test_an_unknown_detector_is_reported_with_the_known_ones(case, capsys):
    assert run("robustness", "isicat", case) == 1
    assert "Did you mean 'isicad'" in capsys.readouterr().err


def series(folder, volume):
    header = SeriesHeader(uid_from("s"), uid_from("t"), uid_from("f"), "P1", rescale_intercept=0)
    dicom_volume.write_volume(volume, folder, header)
    return folder


def missing_slices(folder):
    path = series(folder / "dicom", made_up_chest())
    (path / "0020.dcm").unlink()
    return path


def turned(folder):
    half = np.sqrt(0.5)
    direction = np.array([[half, -half, 0], [half, half, 0], [0, 0, 1.0]])
    volume = make_volume(made_up_chest().hu, spacing_mm=(2, 2.5, 2), direction=direction)
    metaimage.write_volume(volume, folder / "turned.mhd")
    return folder / "turned.mhd"


def empty_lung(folder):
    chest = made_up_chest()
    filled = chest.hu.copy()
    filled[filled < -700] = -1000
    filled[6:56, 14:54, 10:104] = 35
    metaimage.write_volume(Volume(filled, chest.geometry), folder / "empty.mhd")
    return folder / "empty.mhd"


def eight_bit(folder):
    (folder / "small.mhd").write_text(
        "ObjectType = Image\nNDims = 3\nDimSize = 4 4 4\nElementSpacing = 1 1 1\n"
        "ElementType = MET_UCHAR\nElementDataFile = small.raw\n"
    )
    (folder / "small.raw").write_bytes(bytes(range(64)))
    return folder / "small.mhd"


def not_a_number(folder):
    chest = made_up_chest()
    hu = chest.hu.astype(np.float32)
    hu[3, 4, 5] = np.nan
    nifti.write_volume(Volume(hu, chest.geometry), folder / "nan.nii.gz")
    return folder / "nan.nii.gz"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (missing_slices, "a slice is missing between 0019.dcm and 0021.dcm: 4.00 mm apart"),
        (turned, "its axes are turned 45 degrees against the patient's. Resample it to axial"),
        (empty_lung, "shows no lung: the largest region of air in the body has 0 ml"),
        (eight_bit, "has 8-bit voxels (0 to 63), which cannot hold Hounsfield units."),
        (not_a_number, "1 of 430080 voxels are not finite numbers (NaN or infinite)."),
    ],
)
def test_an_image_of_another_body_part_is_refused_with_the_reason(tmp_path, capsys, make, message):
    pytest.importorskip("pydicom")
    assert run("robustness", "isicad", make(tmp_path)) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert message in errors
    assert errors.count("\n") == 1


def test_a_path_without_an_image_is_reported(tmp_path, capsys):
    assert run("robustness", "isicad", tmp_path / "nothing.mhd") == 1
    assert (
        "nothing.mhd: does not exist. Give an image or a DICOM folder." in capsys.readouterr().err
    )
    (tmp_path / "scan.png").write_bytes(b"x")
    assert run("robustness", "isicad", tmp_path / "scan.png") == 1
    assert "scan.png: is not an image of a known format. Give a .mhd" in capsys.readouterr().err


def test_a_system_is_tested_with_given_weights(tmp_path, case, capsys):
    assert run("robustness", "largecad+m5lcad", case, "--test", "shift") == 1
    assert "give its weights with --weights" in capsys.readouterr().err
    torch.manual_seed(0)
    card = ModelCard("m5lcad", 0, 1, "noise", "", (0,))
    write_weights(tmp_path / "w.safetensors", NETWORKS["m5lcad"].build(), card)
    given = ("--test", "shift", "--weights", tmp_path / "w.safetensors")
    run("robustness", "largecad+m5lcad", case, *given)
    assert "shift          the patient is moved" in capsys.readouterr().out
