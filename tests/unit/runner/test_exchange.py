"""Cases go out encrypted under names that say nothing, and only their marks come back."""

import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from builders.algorithms import images_set
from builders.sealed import make_lab
from nodulebench.core.errors import InputError
from nodulebench.custody.verify import read_audit
from nodulebench.io.formats import read_submission
from nodulebench.io.images import metaimage
from nodulebench.runner.exchange import pack, unpack
from nodulebench.security.keys import new_person_key, read_private_key, read_public_key
from nodulebench.security.vault import decrypted_by

pytest.importorskip("pyrage")
HEAD = "seriesuid,coordX,coordY,coordZ,probability\n"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    new_person_key(tmp_path / "dev.key")
    recipient = read_public_key(tmp_path / "dev.key.pub")
    pack(images_set(tmp_path / "set"), tmp_path / "disk", tmp_path / "record.json", recipient)
    return tmp_path


def names(folder: Path) -> dict[str, str]:
    record = json.loads((folder / "record.json").read_text())
    return {row["case_id"]: row["name"] for row in record["cases"]}


def test_a_case_opens_with_the_developer_s_key_and_says_nothing_of_its_name(packed: Path) -> None:
    called = names(packed)
    assert sorted(called) == ["scan-0", "scan-1", "scan-2"]
    name = called["scan-1"]
    sealed = (packed / "disk" / "cases" / f"{name}.tar.age").read_bytes()
    content = decrypted_by(sealed, read_private_key(packed / "dev.key"), "case")
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        tar.extractall(packed / "opened", filter="data")
    case = json.loads((packed / "opened" / name / "case.json").read_text())
    assert case["case_id"] == name
    assert metaimage.read_volume(packed / "opened" / name / "ct.mhd").hu.max() == 1
    assert b"scan-" not in content
    out = [path for path in (packed / "disk").rglob("*") if path.is_file()]
    assert not [path for path in out if b"scan-" in path.read_bytes() or "scan" in path.name]


@pytest.mark.skipif(shutil.which("age") is None, reason="age is not installed")
def test_the_developer_needs_nothing_but_age(packed: Path) -> None:
    file = next((packed / "disk" / "cases").iterdir())
    words = ["age", "-d", "-i", str(packed / "dev.key"), str(file)]
    content = subprocess.run(words, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        assert f"{file.name.removesuffix('.tar.age')}/ct.mhd" in tar.getnames()


def test_marks_come_back_under_the_cases_own_names(packed: Path) -> None:
    called = names(packed)
    marks = packed / "marks.csv"
    marks.write_text(
        HEAD + "".join(f"{called[case_id]},1,2,3,0.5\n" for case_id in ("scan-2", "scan-0"))
    )
    unpacked = unpack(marks, packed / "record.json", packed / "back")
    assert (unpacked.marks, unpacked.cases, unpacked.without_marks) == (2, 3, 1)
    submission = read_submission(packed / "back")
    assert submission.marks.select("case_id", "mark_id", "x_mm", "score").rows() == [
        ("scan-2", "1", 1.0, 0.5),
        ("scan-0", "1", 1.0, 0.5),
    ]


def test_boxes_and_runs_come_back_too(packed: Path) -> None:
    name = names(packed)["scan-0"]
    folder = packed / "sent"
    folder.mkdir()
    (folder / "marks.csv").write_text(
        f"case_id,mark_id,x_mm,y_mm,z_mm,score,category\n{name},words,1,2,3,0.5,secret words\n"
    )
    (folder / "mark_slices.csv").write_text(
        "case_id,mark_id,slice_index,z_mm,center_x_mm,center_y_mm,length_mm,width_mm\n"
        f"{name},words,3,3,1,2,4,4\n"
    )
    (folder / "runs.csv").write_text(f"case_id,state,seconds\n{name},ok,12.5\n")
    unpack(folder, packed / "record.json", packed / "back")
    submission = read_submission(packed / "back")
    assert submission.marks.select("case_id", "mark_id", "category").row(0) == ("scan-0", "1", None)
    assert submission.slices is not None
    assert submission.runs is not None
    assert submission.slices.select("case_id", "mark_id").row(0) == ("scan-0", "1")
    assert submission.runs.select("case_id", "seconds").row(0) == ("scan-0", 12.5)


def test_marks_of_another_exchange_are_refused(packed: Path) -> None:
    marks = packed / "marks.csv"
    marks.write_text(HEAD + "case-0123456789abcdef,1,2,3,0.5\n")
    with pytest.raises(InputError, match="'case-0123456789abcdef', which is not a case of"):
        unpack(marks, packed / "record.json", packed / "back")
    with pytest.raises(InputError, match="is not a record of an exchange"):
        unpack(marks, packed / "disk" / "exchange.json", packed / "back")


def test_the_record_stays_here_and_is_never_written_over(packed: Path) -> None:
    recipient = read_public_key(packed / "dev.key.pub")
    with pytest.raises(InputError, match="belongs to another exchange"):
        pack(packed / "set", packed / "other", packed / "record.json", recipient)
    with pytest.raises(InputError, match="would be sent with the cases"):
        pack(packed / "set", packed / "other", packed / "other" / "record.json", recipient)
    assert not (packed / "other").exists()


def test_a_pack_that_was_stopped_is_begun_again_and_no_other_folder_goes(packed: Path) -> None:
    recipient = read_public_key(packed / "dev.key.pub")
    record = packed / "record.json"
    begun = json.loads(record.read_text()) | {"has_ended": False}
    record.write_text(json.dumps(begun))
    other = packed / "other"
    shutil.copytree(packed / "disk", other)
    (other / "exchange.json").write_text(json.dumps({"exchange": "another"}))
    with pytest.raises(InputError, match="is not empty"):
        pack(packed / "set", other, record, recipient)
    assert len(list((other / "cases").iterdir())) == len(begun["cases"])
    pack(packed / "set", packed / "disk", record, recipient)
    ended = json.loads(record.read_text())
    assert ended["has_ended"]
    assert ended["exchange"] != begun["exchange"]
    assert (
        json.loads((packed / "disk" / "exchange.json").read_text())["exchange"]
        == (ended["exchange"])
    )
    assert len(list((packed / "disk" / "cases").iterdir())) == len(ended["cases"])


def test_on_a_sealed_set_it_is_in_the_log(tmp_path: Path) -> None:
    from builders.algorithms import small_volume

    lab = make_lab(tmp_path)
    shutil.rmtree(lab.bundle / "images")
    (lab.bundle / "images").mkdir()
    for number in range(4):
        metaimage.write_volume(small_volume(), lab.bundle / "images" / f"scan{number}.mhd")
    lab.seal(encrypts_images=True)
    new_person_key(tmp_path / "dev.key")
    recipient = read_public_key(tmp_path / "dev.key.pub")
    own_key = lab.key("Bo")
    packed = pack(lab.sealed, tmp_path / "disk", tmp_path / "r.json", recipient, own_key=own_key)
    event = read_audit(lab.sealed).events[-1]
    assert (event.step, event.facts["exchange"], event.facts["cases"]) == (
        "ran",
        packed.identity,
        4,
    )
    assert event.facts["recipient"] == recipient.fingerprint
    with pytest.raises(InputError, match="is inside the sealed set"):
        pack(lab.sealed, lab.sealed / "disk", tmp_path / "s.json", recipient, own_key=own_key)
