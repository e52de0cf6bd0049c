"""What verify finds, from only a folder and from the original files."""

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from builders.evaluated_folder import write_small_evaluation
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.verify import Originals, Verification, verify_folder
from nodulebench.io.manifests import MANIFEST, write_manifest
from nodulebench.security.signatures import new_key, sign_folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation as it was written."""
    out = tmp_path_factory.mktemp("verify") / "out"
    write_small_evaluation(out)
    return out


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    return Path(shutil.copytree(whole, tmp_path / "out"))


def change_document(folder: Path, change) -> None:
    path = folder / "evaluation.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def lines(messages: Verification) -> list[str]:
    return [str(line) for line in (*messages.problems, *messages.differences)]


def test_an_untouched_folder_is_verified_and_every_value_recomputed(whole: Path) -> None:
    verification = verify_folder(whole)
    assert lines(verification) == []
    assert verification.is_good
    assert verification.from_folder is not None
    assert verification.from_folder.values > 300
    assert verification.from_folder.rows > 100
    assert not verification.is_signed
    assert {path.name for path in whole.iterdir()} == {
        "comparison.json",
        "curves.parquet",
        "evaluation.json",
        "false_positives.csv",
        "flips.parquet",
        "inputs",
        "labels.parquet",
        "manifest.json",
        "misses.csv",
        "plan.json",
        "report.html",
    }


def test_a_changed_number_has_its_place_and_both_values(folder: Path) -> None:
    def change(document) -> None:
        document["algorithms"][1]["rules"]["luna16"]["counts"]["hit"] += 1

    before = json.loads((folder / "evaluation.json").read_text())
    hit = before["algorithms"][1]["rules"]["luna16"]["counts"]["hit"]
    change_document(folder, change)
    write_manifest(folder)
    assert lines(verify_folder(folder)) == [
        f"evaluation.json algorithms[1].rules.luna16.counts.hit: written {hit + 1}, "
        f"recomputed {hit}"
    ]


def test_a_forged_verdict_is_a_difference(folder: Path) -> None:
    def change(document) -> None:
        document["plan"]["verdict"] = "failed"
        document["plan"]["criteria"][0]["limit"] = 0.99

    change_document(folder, change)
    write_manifest(folder)
    assert lines(verify_folder(folder)) == [
        "evaluation.json plan.criteria[0].limit: written 0.99, recomputed 0.25",
        'evaluation.json plan.verdict: written "failed", recomputed "passed"',
    ]


def test_a_forged_comparison_is_a_difference_in_both_files(folder: Path) -> None:
    path = folder / "comparison.json"
    whole = json.loads(path.read_text())
    old = whole["differences"][0]["p_value"]

    def change(document) -> None:
        document["differences"][0]["p_value"] = 0.001

    change(whole)
    path.write_text(json.dumps(whole))
    change_document(folder, lambda document: change(document["comparisons"][0]))
    write_manifest(folder)
    assert lines(verify_folder(folder)) == [
        f"evaluation.json comparisons[0].differences[0].p_value: written 0.001, recomputed {old}",
        f"comparison.json differences[0].p_value: written 0.001, recomputed {old}",
    ]


@pytest.mark.parametrize("content", ["[]", '{"baseline": "nobody"}'])
def test_an_unlisted_comparison_is_a_difference(folder: Path, content: str) -> None:
    (folder / "comparison.json").write_text(content)
    write_manifest(folder)
    (line,) = lines(verify_folder(folder))
    assert line.startswith("comparison.json")
    assert line.endswith("recomputed nothing")


def test_another_protocol_under_the_same_digest_is_not_recomputed(
    folder: Path,
) -> None:
    def change(document) -> None:
        document["protocol"]["interval"]["bootstraps"] = 10**6

    change_document(folder, change)
    write_manifest(folder)
    verification = verify_folder(folder)
    (line,) = lines(verification)
    assert line.startswith('evaluation.json digests.protocol: written "sha256:')
    assert verification.from_folder is not None
    assert verification.from_folder.values == 0


def test_a_changed_table_has_row_and_column(folder: Path) -> None:
    path = folder / "labels.parquet"
    labels = pl.read_parquet(path).with_columns(pl.col("label").cast(pl.String))
    other = {"hit": "false_positive", "false_positive": "hit"}
    first = labels["label"][0]
    changed = labels.with_columns(
        pl.when(pl.int_range(pl.len()) == 0)
        .then(pl.lit(other[first]))
        .otherwise("label")
        .alias("label")
    )
    changed.write_parquet(path)
    messages = lines(verify_folder(folder))
    assert messages[0].startswith(f"{path}: was changed after the folder was written")
    assert f'labels.parquet row 0 label: written "{other[first]}", recomputed "{first}"' in messages


def test_changed_marks_change_what_is_recomputed(folder: Path) -> None:
    path = folder / "inputs" / "marks.parquet"
    pl.read_parquet(path).with_columns(pl.col("x_mm") + 1000).write_parquet(path)
    write_manifest(folder)
    messages = lines(verify_folder(folder))
    assert any(".counts.hit: written" in line for line in messages)
    assert any(line.startswith("labels.parquet ") for line in messages)


def test_a_changed_reference_is_recognised_by_its_digest(folder: Path) -> None:
    path = folder / "inputs" / "nodules.parquet"
    pl.read_parquet(path).with_columns(agreement=pl.lit(3)).write_parquet(path)
    write_manifest(folder)
    verification = verify_folder(folder)
    (line,) = lines(verification)
    assert line.startswith("evaluation.json digests.reference: written")
    assert verification.from_folder is not None
    assert verification.from_folder.values == 0


def test_a_nodule_in_no_case_is_a_problem(folder: Path) -> None:
    path = folder / "inputs" / "cases.parquet"
    cases = pl.read_parquet(path)
    cases[1:].write_parquet(path)
    write_manifest(folder)
    (line,) = lines(verify_folder(folder))
    missing = f"case '{cases['case_id'][0]}' is not among the {cases.height - 1} given cases"
    assert line.startswith(f"{folder / 'inputs'}: {missing}")


def test_a_lost_or_changed_plan_is_a_problem(folder: Path) -> None:
    text = (folder / "plan.json").read_text()
    (folder / "plan.json").write_text(text.replace("0.25", "0.2"))
    messages = lines(verify_folder(folder))
    assert any("plan.json: was changed after it was frozen" in line for line in messages)
    (folder / "plan.json").unlink()
    messages = lines(verify_folder(folder))
    assert messages[0] == f"{folder / 'plan.json'}: is listed in manifest.json, but does not exist."


@pytest.mark.parametrize("name", ["labels.parquet", "inputs/cases.parquet", "evaluation.json"])
def test_a_lost_file_is_a_problem(folder: Path, name: str) -> None:
    (folder / name).unlink()
    verification = verify_folder(folder)
    assert not verification.is_good
    assert (
        lines(verification)[0]
        == f"{folder / name}: is listed in manifest.json, but does not exist."
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document.pop("reference"),
        lambda document: document["reference"].pop("name"),
        lambda document: document.update(algorithms=3),
        lambda document: document.update(notices=None),
        lambda document: document["algorithms"][0].pop("name"),
        lambda document: document["algorithms"][0].update(rules=[]),
        lambda document: document["digests"].pop("protocol"),
        lambda document: document.update(protocol={}),
        lambda document: document.update(schema="other"),
        lambda document: document.update(comparisons=[{"baseline": "one"}]),
    ],
)
def test_a_document_of_another_shape_is_a_problem(folder: Path, change) -> None:
    change_document(folder, change)
    write_manifest(folder)
    verification = verify_folder(folder)
    assert not verification.is_good
    assert "evaluation.json" in lines(verification)[0]


def test_a_document_that_would_take_for_ever_is_refused(folder: Path) -> None:
    def change(document) -> None:
        document["protocol"]["interval"]["bootstraps"] = 10**12

    change_document(folder, change)
    write_manifest(folder)
    assert lines(verify_folder(folder)) == [
        f"{folder / 'evaluation.json'} field 'protocol.interval.bootstraps': Input should be less "
        "than or equal to 1000000, got 1000000000000."
    ]


def test_an_unknown_rule_is_a_problem(folder: Path) -> None:
    def change(document) -> None:
        document["protocol"]["rules"][0]["name"] = "center_hti"
        protocol = TestProtocol.model_validate(document["protocol"])
        document["digests"]["protocol"] = protocol.digest
        document["comparisons"] = []

    change_document(folder, change)
    write_manifest(folder)
    (line,) = lines(verify_folder(folder))
    assert "there is no mark rule 'center_hti'. Did you mean 'center_hit'" in line


def test_a_folder_without_a_manifest_is_recomputed(folder: Path) -> None:
    (folder / MANIFEST).unlink()
    verification = verify_folder(folder)
    assert lines(verification) == [
        f"{folder / MANIFEST}: does not exist, so changed files cannot be detected."
    ]
    assert verification.from_folder is not None


def test_another_folder_is_not_an_evaluation(tmp_path: Path) -> None:
    verification = verify_folder(tmp_path)
    assert [line.partition(":")[0] for line in lines(verification)] == [
        str(tmp_path / MANIFEST),
        str(tmp_path / "evaluation.json"),
    ]
    with pytest.raises(InputError, match="none: is not a folder"):
        verify_folder(tmp_path / "none")


def test_any_folder_with_a_manifest_can_be_signed_and_verified(tmp_path: Path) -> None:
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "cases.parquet").write_bytes(b"cases")
    write_manifest(tmp_path / "set")
    public, _ = new_key(tmp_path / "key.pem")
    sign_folder(tmp_path / "set", tmp_path / "key.pem")
    verification = verify_folder(tmp_path / "set", public_key=public)
    assert verification.is_good
    assert verification.signature is not None
    assert verification.from_folder is None


def test_an_invalid_signature_is_one_problem(folder: Path, tmp_path: Path) -> None:
    new_key(tmp_path / "key.pem")
    sign_folder(folder, tmp_path / "key.pem")
    (folder / MANIFEST).write_bytes((folder / MANIFEST).read_bytes() + b" ")
    verification = verify_folder(folder)
    assert verification.is_signed
    assert verification.signature is None
    assert [line for line in lines(verification) if "manifest.json: was changed" in line] == [
        f"{folder / MANIFEST}: was changed after the folder was written: NoduleBench did not "
        "write it like this."
    ]


def luna16(folder: Path) -> tuple[Path, Path, Path]:
    """A small LUNA16 folder and two submissions."""
    reference = folder / "luna16"
    reference.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (reference / "annotations.csv").write_text(columns + "scan1,0,0,0,8\nscan2,0,0,0,5\n")
    (reference / "annotations_excluded.csv").write_text(columns + "scan3,0,0,0,-1\n")
    (reference / "seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    head = "seriesuid,coordX,coordY,coordZ,probability\n"
    first, two = folder / "first.csv", folder / "two.csv"
    first.write_text(head + "scan1,0,0,0,0.9\nscan1,80,0,0,0.4\nother,1,0,0,0.7\n")
    two.write_text(head + "scan2,0,0,0,0.9\nscan3,80,0,0,0.4\n")
    return reference, first, two


@pytest.fixture
def originals(tmp_path: Path) -> tuple[Path, Originals]:
    """An evaluated folder and the files that it was made from."""
    from nodulebench import evaluate_files

    reference, first, two = luna16(tmp_path)
    fold = tmp_path / "fold.csv"
    fold.write_text("scan3\nscan1\n")
    evaluate_files((first, two), reference, bootstraps=20, series=fold, out=tmp_path / "out")
    return tmp_path / "out", Originals(reference, (first, two), fold)


def test_the_original_files_give_the_same(originals) -> None:
    folder, given = originals
    verification = verify_folder(folder, originals=given)
    assert lines(verification) == []
    assert verification.from_originals is not None
    assert verification.from_originals.values == verification.from_folder.values


def test_files_are_recognised_by_their_content(originals, tmp_path: Path) -> None:
    folder, given = originals
    moved = [path.rename(tmp_path / f"renamed {path.name}") for path in reversed(given.marks)]
    moved_reference = given.reference.rename(tmp_path / "elsewhere")
    again = Originals(moved_reference, tuple(moved), given.series)
    assert lines(verify_folder(folder, originals=again)) == []


def test_other_marks_differ_in_digest_and_numbers(originals) -> None:
    folder, given = originals
    given.marks[0].write_text(given.marks[0].read_text().replace("scan1,0,0,0", "scan1,70,0,0"))
    messages = lines(verify_folder(folder, originals=given))
    assert any(
        line.startswith('evaluation.json algorithms[0].digest: written "s') for line in messages
    )
    assert (
        "evaluation.json algorithms[0].rules.luna16.counts.hit: written 1, recomputed 0" in messages
    )


def test_another_reference_is_a_difference(originals) -> None:
    folder, given = originals
    file = given.reference / "annotations.csv"
    file.write_text(file.read_text().replace("scan1,0,0,0,8", "scan1,0,0,0,9"))
    messages = lines(verify_folder(folder, originals=given))
    places = [line.partition(": ")[0].removeprefix("evaluation.json ") for line in messages]
    assert places[0] == "digests.reference"
    text = ("reference.diameters.", "misses.csv ", "false_positives.csv ")
    assert all(place.startswith(text) for place in places[1:])


def test_a_forgotten_fold_is_a_difference(originals) -> None:
    folder, given = originals
    messages = lines(verify_folder(folder, originals=Originals(given.reference, given.marks)))
    assert "evaluation.json reference.cases: written 2, recomputed 3" in messages


def test_missing_and_extra_marks_are_problems(originals, tmp_path: Path) -> None:
    folder, given = originals
    other = tmp_path / "third.csv"
    other.write_text("seriesuid,coordX,coordY,coordZ,probability\n")
    again = Originals(given.reference, (given.marks[0], other), given.series)
    assert lines(verify_folder(folder, originals=again)) == [
        "algorithm 'two': was evaluated, but its marks were not given.",
        "submission 'third': is none of the evaluated algorithms.",
    ]


def test_a_candidate_list_is_read_again(tmp_path: Path) -> None:
    from nodulebench import evaluate_files

    reference, first, _ = luna16(tmp_path)
    first.write_text("seriesuid,coordX,coordY,coordZ,probability\nscan1,0,0,0,0.9\n")
    listed = tmp_path / "candidates.csv"
    listed.write_text("seriesuid,coordX,coordY,coordZ,class\nscan1,0,0,0,1\nscan2,9,9,9,0\n")
    out = tmp_path / "out"
    evaluate_files((first,), reference, bootstraps=5, candidates=listed, out=out)
    again = Originals(reference, (first,), candidates=listed)
    assert lines(verify_folder(out, originals=again)) == []
    assert lines(verify_folder(out, originals=Originals(reference, (first,)))) == [
        'evaluation.json algorithms[0].notices[0]: written "The marks give a score to 1 of the 2 '
        'candidates in candidates.csv.", recomputed nothing'
    ]
