import json
import zipfile
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import torch

from builders.blocks import write_blocks
from nodulebench.cli import main
from nodulebench.core.tables import CASES, NODULES, Reference
from nodulebench.detection.held_out import series_digest
from nodulebench.detection.networks import DETECTION_NETWORKS, NETWORKS, znet
from nodulebench.detection.networks.cards import ModelCard
from nodulebench.detection.networks.network import cube
from nodulebench.detection.networks.recipe import Augment
from nodulebench.detection.networks.weights import write_weights
from nodulebench.imaging.volume import Volume, make_volume
from nodulebench.io import bundle
from nodulebench.io.dicom import volumes as dicom_volume
from nodulebench.io.dicom.header import SeriesHeader, uid_from
from nodulebench.io.formats import read_submission
from nodulebench.io.images import metaimage, nifti

NODULE_MM = (-60.0, 20.0, -140.0)
SERIES = uid_from("detect", "series")


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


@pytest.fixture(scope="module")
def scan():
    """A box of tissue with two lungs of 72 x 80 x 100 mm and a nodule of 12 mm in the right one."""
    hu = np.full((60, 80, 120), -1000, dtype=np.int16)
    hu[:, 10:70, 10:110] = 40
    for first in (18, 66):
        hu[5:55, 20:60, first : first + 36] = -850
        hu[5:55, 23:58:6, first + 3 : first + 34 : 6] = -400  # vessels
    volume = make_volume(hu, spacing_mm=(2.0, 2.0, 2.0), origin_mm=(-130.0, -60.0, -180.0))
    index = np.argwhere(np.ones(hu.shape))
    world = volume.geometry.to_world(index[:, ::-1].astype(float))
    inside = (np.linalg.norm(world - NODULE_MM, axis=1) <= 6).reshape(hu.shape)
    hu = np.where(inside, 30, hu).astype(np.int16)
    return replace(volume, hu=hu)


def series_header():
    return SeriesHeader(
        SERIES,
        uid_from("detect", "study"),
        uid_from("detect", "frame"),
        "detect",
        slice_thickness_mm=2.0,
        rescale_intercept=0,
    )


def assert_found(submission, case_id):
    best = submission.marks.sort("score", descending=True).row(0, named=True)
    assert best["case_id"] == case_id
    place = np.array([best[f"{axis}_mm"] for axis in "xyz"])
    assert np.linalg.norm(place - NODULE_MM) < 3
    assert best["density"] == "solid"
    assert best["diameter_mm"] == pytest.approx(12, abs=3)


@pytest.mark.parametrize("suffix", [".mhd", ".nii.gz"])
def test_a_scan_becomes_a_submission_with_times_of_its_stages(tmp_path, capsys, scan, suffix):
    path = tmp_path / f"scan-1{suffix}"
    (metaimage if suffix == ".mhd" else nifti).write_volume(scan, path)
    assert run("detect", "largecad", path, "--out", tmp_path / "marks") == 0
    output = capsys.readouterr().out
    for stage in ("reading", "lungs", "largecad", "describing", "total"):
        assert f"  {stage} " in output
    submission = read_submission(tmp_path / "marks")
    assert submission.name == "largecad"
    assert_found(submission, "scan-1")
    assert submission.runs is not None
    assert submission.runs.select("case_id", "state").rows() == [("scan-1", "ok")]
    assert submission.runs["seconds"][0] > 0
    # slices are counted from the feet: z = -140 is the slice (180 - 140) / 2
    assert submission.slices is not None
    middle = submission.slices.filter(pl.col("z_mm") == -140.0)
    assert set(middle["slice_index"]) == {20}


def test_a_zip_of_dicom_is_named_after_its_series(tmp_path, scan):
    folder = tmp_path / "series"
    dicom_volume.write_volume(scan, folder, series_header())
    archive = tmp_path / "series.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for file in folder.iterdir():
            opened.write(file, file.name)
    assert run("detect", "isicad", archive, "--out", tmp_path / "marks", "--max-marks", 3) == 0
    marks = read_submission(tmp_path / "marks").marks
    assert marks.height <= 3
    assert set(marks["case_id"]) == {SERIES}


def test_several_detectors_are_merged_and_share_the_best_mark(tmp_path, scan):
    metaimage.write_volume(scan, tmp_path / "scan.mhd")
    out = tmp_path / "marks"
    names = "isicad+largecad"
    assert run("detect", names, tmp_path / "scan.mhd", "--out", out, "--case-id", "x") == 0
    submission = read_submission(out)
    assert submission.name == names
    assert_found(submission, "x")
    # a probability: a ball of 12 mm in the lung is most likely a nodule
    assert 0.5 < submission.marks["score"].max() < 1.0
    assert submission.facts["training_data"].endswith("all ten folds for 1 scan")


def test_a_test_set_is_read_whole_and_a_broken_case_is_reported(tmp_path, capsys, scan):
    folder = tmp_path / "set"
    cases = CASES.conform(pl.DataFrame({"case_id": ["good", "bad"]}), "cases")
    nodules = NODULES.conform(
        pl.DataFrame(
            [["good", "1", *NODULE_MM, 12.0, False]],
            schema=["case_id", "nodule_id", "x_mm", "y_mm", "z_mm", "diameter_mm", "is_ignored"],
            orient="row",
        ),
        "nodules",
    )
    bundle.write_reference(Reference("set", cases, nodules), folder)
    (folder / "images").mkdir()
    metaimage.write_volume(scan, folder / "images" / "good.mhd")
    air = Volume(np.full_like(scan.hu, -1000), scan.geometry)
    metaimage.write_volume(air, folder / "images" / "bad.mhd")
    assert run("detect", "largecad", folder, "--out", tmp_path / "marks") == 1
    captured = capsys.readouterr()
    assert "error: bad: " in captured.err
    assert "shows no lung" in captured.err
    assert "on 1 scan" in captured.out
    submission = read_submission(tmp_path / "marks")
    assert submission.runs is not None
    assert dict(submission.runs.select("case_id", "state").rows()) == {
        "good": "ok",
        "bad": "failed",
    }
    result = tmp_path / "result"
    scored = ("--reference", folder, "--out", result, "--bootstraps", 5)
    assert run("evaluate", tmp_path / "marks", *scored) == 0
    assert "1 hit, 0 missed" in capsys.readouterr().out


def test_a_scan_without_lungs_gives_a_warning_a_state_and_a_file(tmp_path, capsys, scan):
    belly = np.where(scan.hu < -500, -1000, scan.hu)  # the lungs are gas now
    marks, path = tmp_path / "marks", tmp_path / "belly.mhd"
    metaimage.write_volume(replace(scan, hu=belly.astype(np.int16)), path)
    assert run("detect", "largecad", path, "--out", marks) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("warning: belly: the region found as lungs is not plausible: no ")
    assert "their median density in HU is -1,000, not -985 to -500" in errors
    submission = read_submission(marks)
    assert submission.runs is not None
    assert submission.runs["state"].to_list() == ["lungs_implausible"]
    (warning,) = json.loads((marks / "warnings.json").read_text())
    assert (warning["case_id"], warning["code"]) == ("belly", "lungs_implausible")
    assert warning["values"]["doubts"][0] == {"code": "lungs_without_tissue", "values": {}}
    # marks of a sound scan in the same place take the warning away
    metaimage.write_volume(scan, path)
    assert run("detect", "largecad", path, "--out", marks) == 0
    assert not (marks / "warnings.json").exists()
    assert "warning" not in capsys.readouterr().err


def test_bad_images_are_refused_with_a_reason(tmp_path, capsys, scan):
    def error_for(path):
        assert run("detect", "isicad", path, "--out", tmp_path / "marks") == 1
        return capsys.readouterr().err

    holes = scan.hu.astype(np.float32)
    holes[3, 4, 5] = np.nan
    nifti.write_volume(Volume(holes, scan.geometry), tmp_path / "nan.nii")
    assert "1 of 576000 voxels are not finite numbers" in error_for(tmp_path / "nan.nii")

    half = np.sqrt(0.5)
    turned = np.array([[half, -half, 0], [half, half, 0], [0, 0, 1]])
    oblique = Volume(scan.hu, replace(scan.geometry, direction=turned))
    metaimage.write_volume(oblique, tmp_path / "oblique.mhd")
    assert "its axes are turned 45 degrees against the patient's" in error_for(
        tmp_path / "oblique.mhd"
    )

    header = "ObjectType = Image\nNDims = 3\nDimSize = 4 4 4\nElementSpacing = 1 1 1\n"
    eight_bit = tmp_path / "window.mha"
    eight_bit.write_bytes(
        f"{header}ElementType = MET_UCHAR\nElementDataFile = LOCAL\n".encode() + bytes(64)
    )
    assert "has 8-bit voxels (0 to 0)" in error_for(eight_bit)

    dicom_volume.write_volume(scan, tmp_path / "gap", series_header())
    (tmp_path / "gap" / "0007.dcm").unlink()
    assert "a slice is missing between 0006.dcm and 0008.dcm" in error_for(tmp_path / "gap")

    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04 and no more")
    assert "torn.zip: cannot be unpacked" in error_for(tmp_path / "torn.zip")


def test_an_unknown_or_repeated_detector_is_reported(tmp_path, capsys, scan):
    metaimage.write_volume(scan, tmp_path / "scan.mhd")
    assert run("detect", "isicat", tmp_path / "scan.mhd", "--out", tmp_path / "marks") == 1
    assert "Did you mean 'isicad'" in capsys.readouterr().err
    assert run("detect", "isicad+isicad", tmp_path / "scan.mhd", "--out", tmp_path / "marks") == 1
    assert "names isicad twice" in capsys.readouterr().err


def test_a_zip_that_would_fill_the_disk_is_not_unpacked(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("nodulebench.io.images.case_images.LARGEST_UNPACKED_BYTES", 1000)
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0001.dcm", bytes(1001))
    assert run("detect", "largecad", tmp_path / "bomb.zip", "--out", tmp_path / "out") == 1
    assert "bomb.zip: would unpack to 0.0 GiB; no CT series is so large." in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_network_scores_candidates_and_warns_of_a_scan_it_was_trained_on(tmp_path, capsys, scan):
    torch.manual_seed(0)
    path = tmp_path / "scan-1.mhd"
    metaimage.write_volume(scan, path)
    for number, series in enumerate(("scan-1", "scan-2")):
        card = ModelCard("m5lcad", 0, 1, "", "", (0,), series={0: (series_digest(series),)})
        folder = tmp_path / f"weights-{number}"
        folder.mkdir()
        write_weights(folder / "w.safetensors", NETWORKS["m5lcad"].build(), card)
    given = ["detect", "largecad", path, "--weights"]
    assert run(*given, tmp_path / "weights-1", "--out", tmp_path / "marks") == 0
    captured = capsys.readouterr()
    assert "  network " in captured.out
    assert captured.err == ""
    submission_read = read_submission(tmp_path / "marks")
    assert submission_read.name == "largecad+m5lcad"
    assert submission_read.marks["score"].is_between(0, 1).all()
    assert submission_read.marks["score"].is_sorted(descending=True)
    assert run(*given, tmp_path / "weights-0", "--out", tmp_path / "known") == 0
    assert (
        "scan-1: 1 of 1 scans was scored by weights that were trained on it"
        in capsys.readouterr().err
    )
    assert run(*given, tmp_path / "weights-0", "--fold", 3, "--out", tmp_path / "third") == 1
    assert "network 'm5lcad': none of its weights left fold 3 out" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()


@pytest.fixture
def small_znet(monkeypatch):
    """Both halves of ZNET with fewer maps, larger voxels and smaller batches: seconds of a CPU."""
    monkeypatch.setattr(znet, "MAPS", (4, 4, 4, 4))
    monkeypatch.setattr(znet, "SETS", (4, 4, 4))
    finder, classifier = DETECTION_NETWORKS["znet_unet"], NETWORKS["znet"]
    how = {"batch": 4, "rate": 5e-3, "augment": Augment()}
    recipe = replace(finder.recipe, average=0.85, **how)
    tile, step_mm = cube((1, 24, 24), (1.0,) * 3), 1.0
    smaller = replace(finder, tile=tile, step_mm=step_mm, recipe=recipe, shift_mm=(2, 3, 3))
    monkeypatch.setitem(DETECTION_NETWORKS._loaded, "znet_unet", smaller)
    monkeypatch.setitem(
        NETWORKS._loaded, "znet", replace(classifier, recipe=replace(classifier.recipe, **how))
    )


@pytest.mark.usefixtures("small_znet")
def test_znet_is_trained_and_reads_a_scan_by_commands(tmp_path, capsys, scan):
    for folder in ("scans", "luna16"):
        (tmp_path / folder).mkdir()
    metaimage.write_volume(scan, tmp_path / "scans" / "trained.mhd")
    metaimage.write_volume(scan, tmp_path / "other.mhd")
    x, y, z = NODULE_MM
    header, nodule = "seriesuid,coordX,coordY,coordZ", f"trained,{x},{y},{z}"
    tables = {
        "luna16/seriesuids.csv": ["trained"],
        "luna16/annotations.csv": [f"{header},diameter_mm", f"{nodule},12"],
        "luna16/annotations_excluded.csv": [f"{header},diameter_mm"],
        "candidates.csv": [f"{header},class", f"{nodule},1", f"trained,{x},{y},{z + 40},0"],
    }
    for name, lines in tables.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    known = ("--reference", tmp_path / "luna16", "--candidates", tmp_path / "candidates.csv")
    examples, weights = tmp_path / "examples", tmp_path / "weights"
    assert run("examples", examples, "--images", tmp_path / "scans", *known) == 0
    for name, steps in (("znet_unet", 40), ("znet", 2)):
        given = ("--examples", examples, "--steps", steps, "--out", weights)
        assert run("train", name, *given) == 0
    capsys.readouterr()

    given = ("--weights", weights, "--out", tmp_path / "marks")
    assert run("detect", "znet", tmp_path / "other.mhd", *given) == 0

    output = capsys.readouterr().out
    assert output.index("  znet_unet ") < output.index("  network ")
    submission_read = read_submission(tmp_path / "marks")
    assert submission_read.name == "znet"
    place = submission_read.marks.select("x_mm", "y_mm", "z_mm").to_numpy()
    assert np.linalg.norm(place - NODULE_MM, axis=1).min() < 2
    assert submission_read.marks["score"].is_between(0, 1, closed="none").all()


def test_classifiers_are_trained_and_read_a_scan_by_commands(tmp_path, capsys, scan):
    path = tmp_path / "scan-1.mhd"
    metaimage.write_volume(scan, path)
    blocks, reference = write_blocks(tmp_path)
    (tmp_path / "scans").mkdir()
    nifti.write_volume(scan, tmp_path / "scans" / "s3.nii.gz")  # where it says there are none
    known = ("--blocks", blocks, "--reference", reference, "--images", tmp_path / "scans")
    files = {name: tmp_path / f"{name[:3]}.npz" for name in ("mot_m5lv1", "second_look")}
    for name, file in files.items():
        left_out = ("--without-fold", 9) if name == "mot_m5lv1" else ()
        assert run("train", name, *known, *left_out, "--out", file) == 0
    submissions = []
    for number, given in enumerate([(), tuple(files.values())[:1], tuple(files.values())]):
        weights = [word for file in given for word in ("--weights", file)]
        out = tmp_path / f"marks-{number}"
        assert run("detect", "mot_m5lv1", path, *weights, "--out", out) == 0
        submissions.append(read_submission(out))
    assert [read.name for read in submissions] == ["mot_m5lv1"] * 3
    # the detector's own classifier decides what is reported, the second classifier how likely it is
    scores = [read.marks["score"].max() for read in submissions]
    assert scores[0] == scores[1] != scores[2]
    capsys.readouterr()
    given = ("--weights", files["second_look"], "--out", tmp_path / "no")
    assert run("detect", "mot_m5lv1", path, "--fold", 9, *given) == 1
    errors = capsys.readouterr().err
    assert (
        "the classifier of second_look was trained on fold 9. Train it with --without-fold 9"
        in errors
    )
