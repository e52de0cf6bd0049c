import json
from dataclasses import replace
from pathlib import Path

import pytest

from builders.killing import Killed, killed_at
from builders.tables import Slice, case, ignored, nodule, reference
from nodulebench.core.errors import InputError
from nodulebench.io.bundle import read_reference, write_reference


def written(folder: Path) -> Path:
    box = Slice(3, 1.0, 2.0, 8.0, 8.0)
    truth = reference(
        case("a", nodule(8, (1, 2, 3), box, type="solid"), ignored(4), patient_id="p", vendor="V"),
        case("b", patient_id="q", vendor="W"),
    )
    write_reference(truth, folder / "set")
    return folder / "set"


def test_a_test_set_comes_back_as_it_was(tmp_path: Path) -> None:
    reference = read_reference(written(tmp_path))
    assert reference.name == "test"
    assert reference.cases.select("case_id", "patient_id", "vendor").rows() == [
        ("a", "p", "V"),
        ("b", "q", "W"),
    ]
    assert reference.nodules.select("nodule_id", "diameter_mm", "is_ignored", "type").rows() == [
        ("n0", 8.0, False, "solid"),
        ("n1", 4.0, True, None),
    ]
    assert reference.slices is not None
    assert reference.slices["slice_index"].to_list() == [3]


def test_a_bundle_written_over_another_is_the_old_or_the_new_wherever_it_is_killed(
    tmp_path: Path,
) -> None:
    result = []
    for operation in range(1, 40):
        folder = written(tmp_path / str(operation))  # with a table of slices
        with pytest.MonkeyPatch.context() as patch:
            killed_at(operation, patch)
            try:
                write_reference(reference(case("c", nodule(5))), folder)
            except Killed:
                is_killed = True
            else:
                is_killed = False
        back = read_reference(folder)
        result.append(back.cases["case_id"].to_list())
        assert (back.slices is None) == (result[-1] == ["c"])
        if not is_killed:
            break
    assert result == [["a", "b"]] * result.count(["a", "b"]) + [["c"]] * result.count(["c"])
    assert result.count(["a", "b"]) > 1
    assert result.count(["c"]) > 2


def test_the_manifest_lists_every_table_with_its_digest(tmp_path: Path) -> None:
    manifest = json.loads((written(tmp_path) / "manifest.json").read_text())
    assert manifest["schema"] == "nodulebench/bundle@1"
    assert (manifest["name"], manifest["cases"], manifest["nodules"]) == ("test", 2, 2)
    assert sorted(manifest["files"]) == [
        "cases.parquet",
        "nodule_slices.parquet",
        "nodules.parquet",
    ]
    assert all(len(digest) == len("sha256:") + 64 for digest in manifest["files"].values())


def test_a_changed_table_is_refused(tmp_path: Path, messages_of) -> None:
    folder = written(tmp_path)
    (folder / "nodules.parquet").write_bytes((folder / "cases.parquet").read_bytes())
    (folder / "nodule_slices.parquet").unlink()
    assert messages_of(read_reference, folder) == [
        "set/nodules.parquet: does not match the manifest: it was changed after the bundle was "
        "written. Get the bundle again from its owner.",
        "set/nodule_slices.parquet: is listed in the manifest, but does not exist.",
    ]


def test_a_table_that_the_manifest_does_not_list_is_refused(tmp_path: Path, messages_of) -> None:
    folder = written(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["files"]["nodule_slices.parquet"], manifest["files"]["cases.parquet"]
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert messages_of(read_reference, folder) == [
        "set/cases.parquet: is not listed in the manifest.",
        "set/nodule_slices.parquet: is not listed in the manifest.",
    ]


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ([], "has the schema 'None', not 'nodulebench/bundle@1'"),
        ({"schema": "nodulebench/bundle@2"}, "has the schema 'nodulebench/bundle@2', not"),
        ({"schema": "nodulebench/bundle@1", "name": "x", "files": []}, "has no name and files"),
    ],
)
def test_a_wrong_manifest_is_refused(tmp_path: Path, manifest: object, message: str) -> None:
    folder = written(tmp_path)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(InputError, match=message):
        read_reference(folder)


def test_a_bundle_can_be_written_over_an_older_one(tmp_path: Path) -> None:
    folder = written(tmp_path)
    (folder / "images").mkdir()
    write_reference(reference(case("c")), folder)
    again = read_reference(folder)
    assert (again.cases["case_id"].to_list(), again.nodules.height, again.slices) == (
        ["c"],
        0,
        None,
    )
    assert (folder / "images").is_dir()


def test_a_bundle_says_how_its_reference_was_made(tmp_path: Path) -> None:
    made = replace(reference(case("a", nodule(5))), rule="union")
    write_reference(made, tmp_path / "set")
    assert read_reference(tmp_path / "set").rule == "union"
