"""Encrypted images are readable case by case, by those who score, and are gone afterwards."""

import multiprocessing.util
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from builders.people import person_key
from builders.sealed import SealedLab, make_lab
from nodulebench.core.errors import InputError
from nodulebench.core.executors.local import LocalExecutor
from nodulebench.custody.seal import seal_bundle
from nodulebench.custody.sealed_images import has_encrypted_images, sealed_images
from nodulebench.custody.sealed_set import export_reference
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.detection.detect import detect_set
from nodulebench.detection.systems import System

pytest.importorskip("pyrage")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> SealedLab:
    lab = make_lab(tmp_path_factory.mktemp("keyed"))
    for suffix in (".mhd", ".raw"):
        (lab.bundle / "images" / f"scan2{suffix}").write_bytes(b"voxels of scan2")
    lab.seal(encrypts_images=True)
    return lab


@pytest.fixture
def lab(made: SealedLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedLab:
    shutil.copytree(made.folder, tmp_path / "lab")
    (tmp_path / "temporary").mkdir()
    multiprocessing.util.get_temp_dir()  # the path of a socket may not be longer than 107 bytes
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return SealedLab(tmp_path / "lab")


def plain_files(lab: SealedLab) -> list[str]:
    there = (lab.folder.parent / "temporary").glob("*/t/**/*")
    return [path.name for path in there if path.is_file()]


def test_no_image_is_readable_in_the_set(lab: SealedLab) -> None:
    assert has_encrypted_images(lab.sealed)
    contents = [path.read_bytes() for path in lab.sealed.rglob("*") if path.is_file()]
    assert not [content for content in contents if b"scan0scan0" in content or b"voxels" in content]
    assert not (lab.sealed / "data" / "images").exists()
    assert "images encrypted as well" in (lab.sealed / "datasheet.md").read_text()
    verified = verify_sealed(lab.sealed, own_key=lab.key("Bo"))
    assert verified.is_good, verified.problems


def test_one_case_after_another_is_in_a_private_folder(lab: SealedLab) -> None:
    with sealed_images(lab.sealed, lab.key("Bo")) as images:
        assert images.case_ids == ["scan0", "scan1", "scan2"]
        assert images.folder.stat().st_mode & 0o077 == 0
        assert plain_files(lab) == []
        folder = images.take("scan0")
        assert (folder / "0001.dcm").read_bytes() == b"scan0" * 50
        assert plain_files(lab) == ["0001.dcm"]
        images.give_back("scan0")
        assert plain_files(lab) == []
        assert images.take("scan2").name == "scan2.mhd"
        assert sorted(plain_files(lab)) == ["scan2.mhd", "scan2.raw"]
    assert list((lab.folder.parent / "temporary").iterdir()) == []
    assert [(event.step, event.person) for event in read_audit(lab.sealed).events][-1] == (
        "viewed",
        "Bo",
    )


@pytest.mark.parametrize("person", ["Cem", "Ria", "Ada", "Safe"])
def test_others_do_not_read_them_so(lab: SealedLab, person: str) -> None:
    with (
        pytest.raises(InputError, match="may not evaluate"),
        sealed_images(lab.sealed, lab.key(person)),
    ):
        pass
    assert plain_files(lab) == []


def test_a_changed_image_is_not_given(lab: SealedLab) -> None:
    path = lab.sealed / "data" / "sealed" / "images" / "scan0" / "0001.dcm.sealed"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with sealed_images(lab.sealed, lab.key("Bo")) as images:
        with pytest.raises(InputError, match=r"0001\.dcm\.sealed: was changed after it was sealed"):
            images.take("scan0")
        assert plain_files(lab) == []
    assert not verify_sealed(lab.sealed).is_good


def test_detectors_are_given_them_and_nothing_is_left(lab: SealedLab) -> None:
    most = 0
    with sealed_images(lab.sealed, lab.key("Bo")) as images:

        def no_warning(*_: object) -> None:
            nonlocal most
            most = max(most, len(plain_files(lab)))

        detected = detect_set(
            System(("isicad",)),
            lab.sealed,
            executor=LocalExecutor(1),
            source=images,
            progress=no_warning,
        )
        assert plain_files(lab) == []
    assert [(result.case_id, result.state) for result in detected] == [
        (f"scan{number}", "failed")
        for number in range(3)  # they are not images, and were read
    ]
    assert most == 0


def test_the_curator_takes_them_out_with_the_reference(lab: SealedLab) -> None:
    plain = lab.folder / "plain"
    assert export_reference(lab.sealed, lab.key("Ada"), "x", plain) == 7
    assert (plain / "images" / "scan2.raw").read_bytes() == b"voxels of scan2"


def test_the_same_under_a_shared_secret_and_after_an_interruption(tmp_path: Path) -> None:
    shared = make_lab(tmp_path)
    seal_bundle(replace(shared.order(), encrypts_images=True))
    assert seal_bundle(replace(shared.order(), encrypts_images=True)).already_sealed
    with sealed_images(shared.sealed, person_key("Bo")) as images:
        assert (images.take("scan1") / "0001.dcm").read_bytes() == b"scan1" * 50
    assert verify_sealed(shared.sealed, own_key=person_key("Safe")).is_good
    assert not has_encrypted_images(tmp_path)
