"""nodulebench.evaluate: every kind of input gives the same numbers as files."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import nodulebench as nb
from builders.tables import case, false_mark, ignored, mark, nodule, protocol, reference, submission
from nodulebench.evaluation.evaluate import evaluate as evaluate_tables
from nodulebench.io.marks import luna16 as luna16_csv

pd = pytest.importorskip("pandas", reason="the extra 'pandas' is not installed")

CASES = (
    case("a", nodule(8), mark(0.9), false_mark(0.2)),
    case("b", nodule(6, (50, 0, 0)), ignored(5, (90, 0, 0)), mark(0.4, (90, 0, 0))),
    case("c", false_mark(0.6)),
)
TRUTH, MADE_MARKS = reference(*CASES), submission(*CASES)
PROTOCOL = protocol(metrics=("recall", "cpm", "sensitivity_at_fp_rate"))
NODULES = TRUTH.nodules.select("case_id", "x_mm", "y_mm", "z_mm", "diameter_mm", "is_ignored")
MARKS = MADE_MARKS.marks.select("case_id", "x_mm", "y_mm", "z_mm", "score")
LUNA16 = {"case_id": "seriesuid", "x_mm": "coordX", "y_mm": "coordY", "z_mm": "coordZ"}


def structured(table: pl.DataFrame) -> Any:
    kinds = [(name, "U8" if kind == pl.String else "f8") for name, kind in table.schema.items()]
    return np.array(table.rows(), dtype=kinds)


MARKS_AS: dict[str, Any] = {
    "submission": MADE_MARKS,
    "submissions": [MADE_MARKS],
    "polars": MARKS,
    "pandas": pd.DataFrame(MARKS.to_dict(as_series=False)),
    "columns": MARKS.to_dict(as_series=False),
    "arrays": {name: MARKS[name].to_numpy() for name in MARKS.columns},
    "structured": structured(MARKS),
    "luna16": MARKS.rename({**LUNA16, "score": "probability"}),
    "by name": {"mine": MARKS},
    "generator": (entry for entry in [MARKS]),
}


def metrics(result: nb.Result) -> list[Any]:
    return result.metrics().drop("algorithm").rows()


WANTED = metrics(nb.Result.of(evaluate_tables(TRUTH, [MADE_MARKS], PROTOCOL)))


@pytest.mark.parametrize("kind", MARKS_AS)
def test_marks_of_every_kind_give_the_same_numbers(kind: str) -> None:
    assert metrics(nb.evaluate(TRUTH, MARKS_AS[kind], PROTOCOL)) == WANTED


@pytest.mark.parametrize("cases", [["a", "b", "c"], np.array(["a", "b", "c"]), TRUTH.cases])
@pytest.mark.parametrize(
    "nodules", [NODULES, pd.DataFrame(NODULES.to_dict(as_series=False)), NODULES.rename(LUNA16)]
)
def test_a_table_of_nodules_is_a_reference(nodules: Any, cases: Any) -> None:
    assert metrics(nb.evaluate(nodules, MARKS, PROTOCOL, cases=cases)) == WANTED


def test_files_may_be_named_by_text(tmp_path: Path) -> None:
    MARKS.rename({**LUNA16, "score": "probability"}).write_csv(tmp_path / "mine.csv")
    (tmp_path / "cases.csv").write_text("case_id\na\nb\nc\n")
    names: list[str] = []
    result = nb.evaluate(
        NODULES,
        str(tmp_path / "mine.csv"),
        PROTOCOL,
        names.append,
        cases=str(tmp_path / "cases.csv"),
    )
    assert metrics(result) == WANTED
    assert names == [result.algorithms[0].name] == ["mine"]


def test_arguments_may_be_given_by_position_or_by_keyword() -> None:
    names: list[str] = []
    first = nb.evaluate(TRUTH, [MADE_MARKS], PROTOCOL, names.append)
    second = nb.evaluate(
        reference=TRUTH, marks=[MADE_MARKS], protocol=PROTOCOL, progress=names.append
    )
    assert metrics(first) == metrics(second) == WANTED
    assert isinstance(first, nb.Evaluation)
    assert names == ["algorithm", "algorithm"]


def test_files_are_evaluated_as_earlier_versions_did(tmp_path: Path) -> None:
    MARKS.rename({**LUNA16, "score": "probability"}).write_csv(tmp_path / "mine.csv")
    luna16_csv.write_reference(TRUTH, tmp_path / "luna16")
    names: list[str] = []
    files = ((tmp_path / "mine.csv",), tmp_path / "luna16", "luna16")
    result, written = nb.evaluate_files(
        *files, bootstraps=0, out=tmp_path / "out", progress=names.append
    )
    assert names == ["mine"]
    assert metrics(result) == metrics(nb.evaluate(files[1], files[0], "luna16", bootstraps=0))
    assert tmp_path / "out" / "report.html" in written


def test_several_tables_have_different_names() -> None:
    assert [
        algorithm.name for algorithm in nb.evaluate(TRUTH, [MARKS, MARKS], PROTOCOL).algorithms
    ] == [
        "marks 1",
        "marks 2",
    ]
    assert [
        algorithm.name
        for algorithm in nb.evaluate(TRUTH, {"x": MARKS, 7: MADE_MARKS}, PROTOCOL).algorithms
    ] == [
        "x",
        "7",
    ]


def test_what_pandas_calls_missing_is_missing() -> None:
    frame = pd.DataFrame(NODULES.to_dict(as_series=False))
    frame.loc[0, "diameter_mm"] = np.nan
    result = nb.evaluate(frame, MARKS, PROTOCOL, cases=["a", "b", "c"])
    assert result.test_set is not None
    assert result.test_set.nodules["diameter_mm"].to_list() == [None, 6, 5]


def test_the_options_of_the_command_are_there() -> None:
    result = nb.evaluate(TRUTH, MARKS, bootstraps=10, seed=3)
    assert (result.protocol.name, result.protocol.seed) == ("luna16", 3)
    assert nb.evaluate(TRUTH, MARKS, PROTOCOL, seed=4).protocol.seed == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "marks: are missing"),
        ({"marks": np.zeros((3, 5))}, "marks: is an ndarray without column names"),
        ({"marks": 7}, "marks: is a int"),
        ({"marks": [7]}, "marks 1: is a int"),
        ({"marks": {"mine": 7}}, "marks['mine']: is a int"),
        ({"marks": {"case_id": ["a"], "x_mm": [1.0, 2.0]}}, "marks: is not a table"),
        ({"marks": MARKS.drop("x_mm")}, "marks: column 'x_mm' is missing"),
        ({"marks": MARKS.rename({"score": "scor"})}, "marks: column 'scor' is not known. Did you"),
        (
            {"marks": MARKS.with_columns(y_mm=np.nan)},
            "marks rows 1, 2, 3, 4: y_mm 'nan' is not a finite",
        ),
        ({"marks": MARKS, "cases": ["a"]}, "cases: were given, but the reference has its own"),
        (
            {"marks": MARKS, "reference": NODULES},
            "cases: are needed in addition to a table of nodules",
        ),
        (
            {"marks": MARKS, "reference": NODULES, "cases": ["a", "a"]},
            "cases row 2: case_id 'a' was",
        ),
        (
            {"marks": MARKS, "reference": NODULES, "cases": ["a"]},
            "reference: case 'b' is not among",
        ),
        ({"marks": MARKS, "reference": 3, "cases": ["a"]}, "reference: is a int"),
        ({"marks": MARKS, "plan": "plan.json"}, "protocol: is fixed by the plan"),
    ],
)
def test_an_error_names_its_argument(given: dict[str, Any], message: str) -> None:
    with pytest.raises(nb.InputError, match=re.escape(message)):
        nb.evaluate(**{"reference": TRUTH, "protocol": PROTOCOL, **given})


def test_tables_of_the_model_show_themselves_in_a_line() -> None:
    assert repr(TRUTH) == "<Reference test: 3 cases, 3 findings>"
    assert repr(MADE_MARKS) == "<Submission algorithm: 4 marks>"
