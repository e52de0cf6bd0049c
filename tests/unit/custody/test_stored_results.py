"""A stored result is sufficient for all reports, and matches its digest in the log."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from builders.people import person_key
from builders.sealed import SealedLab, make_lab
from nodulebench.core.documents.evaluation import evaluation_document
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import load_protocol
from nodulebench.custody import layout
from nodulebench.custody import stored_results as results_module
from nodulebench.custody.evaluate import SealedEvaluateOptions, evaluate_sealed
from nodulebench.custody.sealed_set import SealedSet, open_sealed
from nodulebench.custody.stored_results import StoredResult, open_stored_result
from nodulebench.custody.verify import verify_sealed
from nodulebench.evaluation.evaluate import evaluate
from nodulebench.evaluation.result_folder import CURVE_FILE, LABEL_FILE, result_tables
from nodulebench.evaluation.service import with_options
from nodulebench.io.atomic import locked
from nodulebench.io.formats import read_reference, read_submission

pytest.importorskip("cryptography")


@pytest.fixture
def lab(tmp_path: Path) -> SealedLab:
    lab = make_lab(tmp_path)
    lab.seal()
    return lab


def take(lab: SealedLab) -> Path:
    marks = lab.marks("mine.csv", "scan0", "scan1", "scan2")
    evaluate_sealed(
        SealedEvaluateOptions(marks, lab.sealed, person_key("Bo"), "Example", bootstraps=20)
    )
    return marks


def stored_of(lab: SealedLab) -> StoredResult:
    opened = open_sealed(lab.sealed, person_key("Cem"), "inspect")
    return open_stored_result(
        opened, next(event for event in opened.events if event.step == "evaluated")
    )


def test_a_stored_result_is_what_a_plain_evaluation_finds(lab: SealedLab) -> None:
    marks = take(lab)
    reference = read_reference(lab.bundle)
    submission = read_submission(marks, reference.cases)
    plain = evaluate(reference, [submission], with_options(load_protocol("luna16"), bootstraps=20))
    stored = stored_of(lab)
    assert json.loads(stored.contents["evaluation.json"]) == evaluation_document(plain).to_json()
    tables = result_tables(plain)
    assert_frame_equal(stored.curves, tables[CURVE_FILE])
    evaluated = stored.evaluated()
    assert not evaluated.changed_digests
    assert_frame_equal(evaluated.labels, tables[LABEL_FILE], check_dtypes=False)
    assert stored.about["developer"] == "example"
    assert stored.about["name"] == "mine"


def test_a_stored_result_that_is_not_the_one_in_the_log_is_refused(lab: SealedLab) -> None:
    take(lab)
    path = lab.sealed / layout.result_file(2)
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(InputError, match="was changed: event 3 names another digest"):
        stored_of(lab)
    path.unlink()
    with pytest.raises(InputError, match="is named by event 3, but does not exist"):
        stored_of(lab)


def test_a_result_of_an_interrupted_evaluation_is_removed_by_the_next(lab: SealedLab) -> None:
    class KilledError(BaseException):
        pass

    def killed(*_: object, **__: object) -> None:
        raise KilledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SealedSet, "record", _but_at("evaluated", SealedSet.record, killed))
        with pytest.raises(KilledError):
            take(lab)
    results = lab.sealed / layout.RESULTS
    assert [path.name for path in results.iterdir()] == ["00000002.zip.sealed"]
    (results / "00000009.zip.sealed").write_bytes(b"added by another")
    take(lab)
    stored_names = sorted(path.name for path in results.iterdir())
    assert stored_names == ["00000003.zip.sealed", "00000009.zip.sealed"]
    verified = verify_sealed(lab.sealed, public_key=lab.public_key, own_key=person_key("Safe"))
    assert [problem.what for problem in verified.problems] == [
        "does not belong there: it was added."
    ]


def test_a_result_that_is_being_stored_is_waited_for(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results_module, "STORING_WAIT_S", 0)
    with (
        locked(lab.sealed / results_module.STORING_LOCK, lab.sealed),
        pytest.raises(InputError, match="is being written by another process"),
    ):
        take(lab)
    take(lab)


def _but_at(step: str, real: Callable[..., Any], other: Callable[..., Any]) -> Callable[..., Any]:
    """``record``, but for one step."""

    def record(opened: SealedSet, name: str, *given: Any) -> Any:
        return (other if name == step else real)(opened, name, *given)

    return record
