"""Encrypted images are readable case by case, by those who score, and are gone afterwards."""

import multiprocessing.util
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from builders.keyed import KeyedDesk, make_keyed_desk
from builders.sealed import SECRET, make_desk
from nodulebench.core.errors import InputError
from nodulebench.core.executors.local import LocalExecutor
from nodulebench.custody.lifecycle import export_reference
from nodulebench.custody.seal import seal_bundle
from nodulebench.custody.sealed_images import has_encrypted_images, sealed_images
from nodulebench.custody.verify import read_audit, verify_sealed
from nodulebench.detection.detect import detect_set
from nodulebench.detection.systems import System

pytest.importorskip("pyrage")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> KeyedDesk:
    desk = make_keyed_desk(tmp_path_factory.mktemp("keyed"))
    for suffix in (".mhd", ".raw"):
        (desk.bundle / "images" / f"scan2{suffix}").write_bytes(b"voxels of scan2")
    desk.seal(encrypts_images=True)
    return desk


@pytest.fixture
def desk(made: KeyedDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> KeyedDesk:
    shutil.copytree(made.folder, tmp_path / "desk")
    (tmp_path / "temporary").mkdir()
    multiprocessing.util.get_temp_dir()  # the path of a socket may not be longer than 107 bytes
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return KeyedDesk(tmp_path / "desk")


def plain_files(desk: KeyedDesk) -> list[str]:
    there = (desk.folder.parent / "temporary").glob("*/t/**/*")
    return [path.name for path in there if path.is_file()]


def test_no_image_is_readable_in_the_set(desk: KeyedDesk) -> None:
    assert has_encrypted_images(desk.sealed)
    contents = [path.read_bytes() for path in desk.sealed.rglob("*") if path.is_file()]
    assert not [content for content in contents if b"scan0scan0" in content or b"voxels" in content]
    assert not (desk.sealed / "data" / "images").exists()
    assert "images encrypted as well" in (desk.sealed / "datasheet.md").read_text()
    found = verify_sealed(desk.sealed, secret=desk.secret("Bo"))
    assert found.is_good, found.problems


def test_one_case_after_another_lies_in_a_private_place(desk: KeyedDesk) -> None:
    with sealed_images(desk.sealed, desk.secret("Bo"), "") as images:
        assert images.case_ids == ["scan0", "scan1", "scan2"]
        assert images.place.stat().st_mode & 0o077 == 0
        assert plain_files(desk) == []
        folder = images.take("scan0")
        assert (folder / "0001.dcm").read_bytes() == b"scan0" * 50
        assert plain_files(desk) == ["0001.dcm"]
        images.give_back("scan0")
        assert plain_files(desk) == []
        assert images.take("scan2").name == "scan2.mhd"
        assert sorted(plain_files(desk)) == ["scan2.mhd", "scan2.raw"]
    assert list((desk.folder.parent / "temporary").iterdir()) == []
    assert [(event.step, event.person) for event in read_audit(desk.sealed).events][-1] == (
        "viewed",
        "Bo",
    )


@pytest.mark.parametrize("person", ["Cem", "Ria", "Ada", "Safe"])
def test_others_do_not_read_them_so(desk: KeyedDesk, person: str) -> None:
    with (
        pytest.raises(InputError, match="may not evaluate"),
        sealed_images(desk.sealed, desk.secret(person), ""),
    ):
        pass
    assert plain_files(desk) == []


def test_a_changed_image_is_not_given(desk: KeyedDesk) -> None:
    path = desk.sealed / "data" / "sealed" / "images" / "scan0" / "0001.dcm.sealed"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with sealed_images(desk.sealed, desk.secret("Bo"), "") as images:
        with pytest.raises(InputError, match=r"0001\.dcm\.sealed: was changed after it was sealed"):
            images.take("scan0")
        assert plain_files(desk) == []
    assert not verify_sealed(desk.sealed).is_good


def test_detectors_are_given_them_and_nothing_is_left(desk: KeyedDesk) -> None:
    most = 0
    with sealed_images(desk.sealed, desk.secret("Bo"), "") as images:

        def told(*_: object) -> None:
            nonlocal most
            most = max(most, len(plain_files(desk)))

        found = detect_set(
            System(("isicad",)),
            desk.sealed,
            executor=LocalExecutor(1),
            source=images,
            progress=told,
        )
        assert plain_files(desk) == []
    assert [(one.case_id, one.state) for one in found] == [
        (f"scan{number}", "failed")
        for number in range(3)  # they are no images, and were read
    ]
    assert most == 0


def test_the_curator_takes_them_out_with_the_reference(desk: KeyedDesk) -> None:
    plain = desk.folder / "plain"
    assert export_reference(desk.sealed, desk.secret("Ada"), "", "x", plain) == 7
    assert (plain / "images" / "scan2.raw").read_bytes() == b"voxels of scan2"


def test_the_same_under_a_shared_secret_and_after_an_interruption(tmp_path: Path) -> None:
    shared = make_desk(tmp_path)
    seal_bundle(replace(shared.order(), encrypts_images=True))
    assert seal_bundle(replace(shared.order(), encrypts_images=True)).was_there
    with sealed_images(shared.sealed, SECRET, "Bo") as images:
        assert (images.take("scan1") / "0001.dcm").read_bytes() == b"scan1" * 50
    assert verify_sealed(shared.sealed, secret=SECRET).is_good
    assert not has_encrypted_images(tmp_path)
