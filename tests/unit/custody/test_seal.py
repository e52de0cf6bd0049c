"""A sealed set is a signed bag without readable reference; a killed sealing is completed."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builders.people import person_key
from builders.places import ROOT
from builders.sealed import POLICY, SealedLab, make_lab
from conftest import TEST_DATA
from nodulebench.core.errors import InputError
from nodulebench.custody.bundle import BundleOptions, write_bundle
from nodulebench.custody.seal import seal_bundle
from nodulebench.custody.sealed_set import open_sealed
from nodulebench.custody.verify import verify_sealed
from nodulebench.io.bundle import read_reference, write_reference

pytest.importorskip("cryptography")
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    return make_lab(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_sealing_encrypts_everything_but_the_images(lab: SealedLab) -> None:
    report = lab.seal()
    assert (report.name, report.secrets, report.taken_over) == ("small", 3, 0)
    files = contents(lab.sealed)
    assert {name for name in files if name.startswith("data/")} == {
        "data/cases.csv",
        "data/images/scan0/0001.dcm",
        "data/images/scan1/0001.dcm",
        "data/sealed/cases.parquet.sealed",
        "data/sealed/manifest.json.sealed",
        "data/sealed/nodules.parquet.sealed",
    }
    plain = (lab.bundle / "nodules.parquet").read_bytes()
    for name, content in files.items():
        assert plain[:64] not in content, name
    assert "has_nodules" not in files["data/cases.csv"].decode()


def test_the_bundle_is_not_changed_and_the_reference_comes_back_whole(lab: SealedLab) -> None:
    before = contents(lab.bundle)
    lab.seal()
    assert contents(lab.bundle) == before
    opened = open_sealed(lab.sealed, person_key("Bo"), "evaluate")
    reference = opened.reference()
    expected = read_reference(lab.bundle)
    assert reference.nodules.equals(expected.nodules)
    assert reference.cases.equals(expected.cases)
    assert opened.plain("nodules.parquet") == before["nodules.parquet"]


def test_a_sealed_set_verifies_with_and_without_a_key(lab: SealedLab) -> None:
    lab.seal()
    for own_key in (None, person_key("Safe")):
        verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=own_key)
        assert verified.is_good, verified.problems
        assert verified.signature is not None
        assert verified.signature.is_known
        assert verified.signature.signed.by == "Ada"
        assert [event.step for event in verified.events] == ["sealed"]


def test_a_sealed_set_is_a_valid_bag(lab: SealedLab) -> None:
    bagit = pytest.importorskip("bagit", reason="bagit is not installed")
    lab.seal()
    bag = bagit.Bag(str(lab.sealed))
    assert bag.validate()
    assert bag.info["Source-Organization"] == "Test laboratory"
    image = lab.sealed / "data" / "images" / "scan0" / "0001.dcm"
    image.write_bytes(image.read_bytes() + b"x")
    with pytest.raises(bagit.BagValidationError):
        bag.validate()


def test_other_tables_of_the_bundle_are_sealed_too(lab: SealedLab) -> None:
    (lab.bundle / "luna16").mkdir()
    (lab.bundle / "luna16" / "annotations.csv").write_text("seriesuid,coordX\n")
    (lab.bundle / "readings.csv").write_text("case_id\n")
    lab.seal()
    names = contents(lab.sealed)
    assert "data/sealed/luna16/annotations.csv.sealed" in names
    assert "data/sealed/readings.csv.sealed" in names
    assert b"coordX" not in b"".join(names.values())


def test_a_list_of_images_stays_readable_and_is_compared(lab: SealedLab) -> None:
    images = lab.folder / "images"
    (lab.bundle / "images").rename(images)
    write_bundle(
        BundleOptions(
            reference=lab.bundle, out=lab.folder / "bag", images=images, lists_images=True
        )
    )
    order = replace(lab.order(), bundle=lab.folder / "bag")
    seal_bundle(order)
    assert (lab.sealed / "data" / "images.csv").is_file()
    assert verify_sealed(lab.sealed, images=images).is_good
    (images / "scan1" / "0001.dcm").write_bytes(b"x")
    verified = verify_sealed(lab.sealed, images=images).problems
    assert [str(result) for result in verified] == [
        f"{images / 'scan1' / '0001.dcm'}: is not the file that images.csv lists."
    ]


def test_only_a_curator_may_seal(lab: SealedLab) -> None:
    order = lab.order()
    with pytest.raises(InputError, match="'Bo' is operator and may not seal"):
        seal_bundle(replace(order, own_key=person_key("Bo")))
    assert not lab.sealed.exists()


def test_a_damaged_bundle_is_not_sealed(lab: SealedLab) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(lab.bundle / "nodules.parquet")
    with pytest.raises(InputError, match="was changed after the bundle was written"):
        lab.seal()


def test_a_bundle_is_not_sealed_into_itself(lab: SealedLab) -> None:
    with pytest.raises(InputError, match="is inside the bundle"):
        seal_bundle(replace(lab.order(), out=lab.bundle / "sealed"))
    assert not list(lab.bundle.glob("*seal*"))


def test_a_name_that_no_bag_can_list_is_refused(lab: SealedLab) -> None:
    (lab.bundle / "images" / "scan0" / "im\udcff").write_bytes(b"image")
    with pytest.raises(
        InputError, match=r"scan0/im\\xff: has a name that is not UTF-8\. Rename it"
    ):
        lab.seal()
    assert not list(lab.folder.glob(".*sealing"))


def test_the_order_of_cases_tells_nothing(lab: SealedLab) -> None:
    reference = read_reference(lab.bundle)
    turned = replace(reference, cases=reference.cases.reverse())
    write_reference(turned, lab.bundle)
    lab.seal()
    listed = pl.read_csv(lab.sealed / "data" / "cases.csv")["case_id"].to_list()
    assert listed == ["scan0", "scan1", "scan2", "scan3"]


def test_another_folder_is_not_overwritten(lab: SealedLab) -> None:
    lab.sealed.mkdir()
    (lab.sealed / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match=r"already exists\. Choose a new folder"):
        lab.seal()


def test_sealing_the_same_set_again_does_nothing(lab: SealedLab) -> None:
    lab.seal()
    before = contents(lab.sealed)
    assert lab.seal().already_sealed
    assert contents(lab.sealed) == before


def test_another_set_does_not_take_its_place(lab: SealedLab) -> None:
    lab.seal()
    (lab.bundle / "images" / "scan0" / "0001.dcm").write_bytes(b"other")
    with pytest.raises(InputError, match="is another sealed set"):
        lab.seal()


@pytest.mark.slow
@needs_fork
def test_an_interrupted_sealing_needs_the_same_people(lab: SealedLab) -> None:
    assert kill(lab, "at", 40) == [{"killed": True}]
    policy = lab.folder / "policy.toml"
    policy.write_text(policy.read_text().replace(lab.line("Bo"), lab.line("Bob")))
    with pytest.raises(InputError, match=r"interrupted run with other people.*remove that folder"):
        lab.seal()


def kill(lab: SealedLab, *operations: object) -> list[dict[str, Any]]:
    """The outcomes of builders.killed_sealing in this folder."""
    script = [sys.executable, "-m", "builders.killed_sealing"]
    done = subprocess.run(
        [*script, str(lab.folder), *map(str, operations)],
        cwd=ROOT / "tests",
        capture_output=True,
        check=True,
        timeout=600,
    )
    outcomes: list[dict[str, Any]] = json.loads(done.stdout)
    return outcomes


@pytest.mark.slow
@needs_fork
def test_killed_at_any_operation_the_next_run_completes_it(lab: SealedLab) -> None:
    source = contents(lab.bundle)
    outcomes = kill(lab, "every", 8)  # each of them: benchmarks/broken_runs.py
    assert len(outcomes) > 12
    assert [outcome["problems"] for outcome in outcomes if outcome["problems"]] == []
    assert [outcome["left"] for outcome in outcomes if outcome["left"]] == []
    assert all(outcome["files"] == outcomes[0]["files"] for outcome in outcomes)
    assert {0, len(source)} < {outcome["taken_over"] for outcome in outcomes}
    assert contents(lab.bundle) == source


@pytest.mark.slow
@needs_fork
def test_killed_again_and_again_it_is_still_completed(lab: SealedLab) -> None:
    assert all(outcome["killed"] for outcome in kill(lab, "at", 12, 30, 30, 45))
    assert lab.seal().taken_over > 0
    verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert verified.is_good, verified.problems


@pytest.mark.slow
@needs_fork
def test_scoring_killed_at_any_operation_leaves_a_good_log_and_costs_one_evaluation(
    lab: SealedLab,
) -> None:
    lab.seal()
    lab.marks("mine.csv", "scan0", "scan1")
    outcomes = kill(lab, "score", 8)
    assert len(outcomes) > 4
    assert [outcome for outcome in outcomes if outcome["problems"]] == []
    assert {outcome["used"] for outcome in outcomes} == {1}


REAL = "LIDC-IDRI-0001_original_6slices"


def test_a_flipped_byte_in_a_real_image_is_found_and_named(lab: SealedLab) -> None:
    archive = TEST_DATA / "ct" / f"{REAL}.zip"
    if not archive.is_file():
        pytest.skip(f"no CT data at {archive}; set NODULEBENCH_TEST_DATA")
    shutil.rmtree(lab.bundle / "images")
    with zipfile.ZipFile(archive) as file:
        file.extractall(lab.bundle / "images" / "scan0")
    lab.seal()
    assert verify_sealed(lab.sealed, public_key=lab.public_key).is_good
    slices = sorted((lab.sealed / "data" / "images").rglob("*.dcm"))
    assert len(slices) == 6
    content = bytearray(slices[2].read_bytes())
    content[len(content) // 2] ^= 1
    slices[2].write_bytes(bytes(content))
    problems = verify_sealed(lab.sealed, public_key=lab.public_key).problems
    assert [problem.where for problem in problems] == [str(slices[2])]


def test_what_a_killed_run_copied_badly_is_copied_again(lab: SealedLab) -> None:
    stage = lab.folder / ".sealed.sealing" / "data" / "images" / "scan0"
    stage.mkdir(parents=True)
    (stage / "0001.dcm").write_bytes(b"half")
    (stage / ".0123456789abcdef.part").write_bytes(b"quarter")
    secret = lab.folder / ".sealed.sealing" / "data" / "sealed" / "nodules.parquet.sealed"
    secret.parent.mkdir(parents=True)
    secret.write_bytes(b"sealed under another vault")
    assert lab.seal().taken_over == 0
    assert verify_sealed(lab.sealed, own_key=person_key("Safe")).is_good


def test_the_datasheet_names_its_gaps(lab: SealedLab) -> None:
    answers = lab.folder / "datasheet.toml"
    answers.write_text('purpose = "To test detection."\nethics = "Approval 7 of hospital X."\n')
    order = lab.order()
    report = seal_bundle(replace(order, answers=answers))
    sheet = json.loads((lab.sealed / "datasheet.json").read_text())
    assert sheet["answers"]["purpose"]["answer"] == "To test detection."
    assert sheet["answers"]["cases"] == {
        "section": "Composition",
        "life_cycle": "collection",
        "question": "How many cases and patients?",
        "answer": "4 cases of 4 patients.",
        "source": "data",
    }
    assert sheet["answers"]["key_custodian"]["answer"] == "Test laboratory"
    assert "consent" in sheet["gaps"]
    assert not {"purpose", "ethics", "cases", "storage"} & set(sheet["gaps"])
    assert tuple(sheet["gaps"]) == report.gaps


@pytest.mark.parametrize(
    ("named", "message"),
    [
        (
            "luna16.recal",
            "'luna16.recal': there is no metric 'recal'. Did you mean 'recall'?",
        ),
        ("luna.recall", "'luna.recall': there is no mark rule 'luna'. Did you mean 'luna16'"),
        ("recall", "'recall': there is no mark rule 'recall'."),
    ],
)
def test_a_policy_that_tells_an_unknown_metric_is_not_sealed(
    lab: SealedLab, named: str, message: str
) -> None:
    policy = lab.folder / "policy.toml"
    policy.write_text(policy.read_text().replace("luna16.recall", named))
    with pytest.raises(InputError) as refused:
        lab.seal()
    assert f"policy.toml field 'reuse.metrics': {message}" in str(refused.value)
    assert not lab.sealed.exists()


@pytest.mark.parametrize(("named", "is_open"), [("", True), ('protocols = ["luna16"]\n', False)])
def test_a_policy_that_names_no_question_is_reported(
    tmp_path: Path, named: str, is_open: bool
) -> None:
    assert make_lab(tmp_path, POLICY + named).seal().permits_any_test == is_open
