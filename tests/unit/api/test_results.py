"""Result and Picture: tables, pictures and what notebooks show."""

from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest

import nodulebench as nb
from builders.hidden_packages import hide_package
from builders.tables import case, false_mark, mark, nodule, protocol, reference, submission
from nodulebench.core.protocol import IntervalChoice, RuleChoice

HOSTILE = "<script>alert(1)</script>"
CASES = (
    case("a", nodule(8), nodule(5, (40, 0, 0)), mark(0.9), false_mark(0.2)),
    case("b", nodule(6, (50, 0, 0)), mark(0.4, (50, 0, 0))),
    case("c", false_mark(0.6)),
)
METRICS = ("recall", "cpm", "sensitivity_at_fp_rate")
PROTOCOL = protocol(metrics=METRICS, interval=IntervalChoice(bootstraps=20))


def result(*names: str, chosen: nb.TestProtocol = PROTOCOL) -> nb.Result:
    submissions = [submission(*CASES, name=name) for name in names or ("mine",)]
    return nb.evaluate(reference(*CASES), submissions, chosen)


def test_metrics_hold_every_number_once() -> None:
    evaluation = result()
    table = evaluation.metrics()
    metrics = evaluation.algorithms[0].rules["luna16"].metrics
    assert table.filter(metric="recall")["value"].to_list() == [metrics["recall"].value]
    points = table.filter(metric="sensitivity_at_fp_rate")
    assert points["point"].to_list() == list(metrics["sensitivity_at_fp_rate"])
    assert table.select("algorithm", "rule", "metric", "point").is_unique().all()
    assert table.schema["reason"] == pl.String


def test_misses_and_false_positives_are_those_of_the_result_folder(tmp_path: Path) -> None:
    evaluation = result("mine", "yours")
    missed = evaluation.misses().filter("is_missed")
    rows = missed.select("algorithm", "rule", "case_id", "nodule_id", "diameter_mm").rows()
    assert rows == [(name, "luna16", "a", "n1", 5.0) for name in ("mine", "yours")]
    evaluation.write(tmp_path / "out")
    written = pl.read_csv(tmp_path / "out" / "misses.csv")
    assert written["nodule_id"].to_list() == evaluation.misses()["nodule_id"].to_list()
    false = evaluation.false_positives().filter(algorithm="mine")
    assert false["score"].to_list() == [0.6, 0.2]


def test_nothing_missed_is_a_table_of_the_same_columns() -> None:
    evaluation = nb.evaluate(reference(CASES[1]), [submission(CASES[1])], PROTOCOL)
    assert evaluation.misses().columns == result().misses().columns
    assert not evaluation.misses()["is_missed"].any()


def test_a_curve_is_asked_for_by_its_names() -> None:
    evaluation = result("mine", "yours")
    assert evaluation.curve()["algorithm"].unique().sort().to_list() == ["mine", "yours"]
    first = evaluation.curve("froc", algorithm="mine", rule="luna16")
    assert first["x"].to_list()[0] == 0
    assert first["y"].to_list()[-1] == 2 / 3
    for wrong in ({"algorithm": "min"}, {"rule": "luna"}, {"name": "frok"}):
        (name,) = wrong.values()
        with pytest.raises(nb.core.errors.UnknownNameError, match=f"'{name}'. Did you mean"):
            evaluation.curve(**wrong)


def test_a_plot_names_its_lines_and_is_a_complete_file(tmp_path: Path) -> None:
    picture = result("mine", HOSTILE).plot()
    drawn = ElementTree.fromstring(picture.svg)  # noqa: S314 - our own
    texts = ["".join(entry.itertext()) for entry in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"mine", HOSTILE, "FROC: luna16", "sensitivity"} <= set(texts)
    assert "<script" not in picture.svg
    saved = picture.save(str(tmp_path / "froc.svg"))
    assert saved.read_text(encoding="utf-8") == picture.svg == picture._repr_svg_()
    assert repr(picture) == "<Picture: FROC: luna16>"
    assert picture._repr_html_().startswith('<img alt="FROC: luna16"')


def test_of_several_rules_one_can_be_plotted() -> None:
    rules = tuple(RuleChoice(name=name) for name in ("luna16", "luna16_clean"))
    evaluation = result("mine", "yours", chosen=PROTOCOL.model_copy(update={"rules": rules}))
    assert "clean" in evaluation.plot(rule="luna16_clean").title
    assert "clean" not in evaluation.plot().title
    with pytest.raises(nb.core.errors.UnknownNameError, match="there is no rule 'x'"):
        evaluation.plot(rule="x")


def test_marks_without_scores_have_no_plot_but_still_show_themselves() -> None:
    unscored = case("a", nodule(8), mark(None))
    evaluation = nb.evaluate(reference(unscored), [submission(unscored)], PROTOCOL)
    with pytest.raises(nb.InputError, match="there is no FROC"):
        evaluation.plot()
    assert "<table>" in evaluation._repr_html_()
    assert "<img" not in evaluation._repr_html_()


def test_the_short_forms_tell_what_matters_and_escape_names() -> None:
    evaluation = result(HOSTILE)
    title, heads, row = repr(evaluation).splitlines()
    assert title == "<Result: test, 3 cases, 3 nodules; protocol test>"
    assert heads.split()[:5] == ["algorithm", "rule", "hit", "missed", "false"]
    assert row.split()[:5] == [HOSTILE, "luna16", "2", "1", "2"]
    assert "0.667 (" in row
    assert len(repr(evaluation)) < 400
    shown = evaluation._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "data:image/svg+xml;base64," in shown


def test_a_rule_that_cannot_be_applied_has_its_row() -> None:
    evaluation = result(chosen=protocol("area_overlap"))
    assert repr(evaluation).splitlines()[-1].split() == ["mine", "area_overlap", "–", "–", "–"]


def test_a_frame_of_pandas_holds_the_metrics() -> None:
    pytest.importorskip("pandas", reason="the extra 'pandas' is not installed")
    evaluation = result()
    frame = evaluation.to_pandas()
    assert list(frame.columns) == evaluation.metrics().columns
    assert frame["value"].tolist() == evaluation.metrics()["value"].to_list()


def test_without_pandas_it_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(monkeypatch, "pandas")
    with pytest.raises(nb.InputError, match=r"to_pandas: needs pandas.*nodulebench\[pandas\]"):
        result().to_pandas()


def test_write_writes_what_the_command_writes(tmp_path: Path) -> None:
    written = result().write(str(tmp_path / "out"))
    assert tmp_path / "out" / "report.html" in written
    assert (tmp_path / "out" / "evaluation.json").is_file()
