import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click import Command
from click.testing import CliRunner

from builders.readings import block, point, read, readings
from builders.tables import case, mark, nodule, protocol, reference, submission
from nodulebench.cli import nodulebench
from nodulebench.cli import reference as commands
from nodulebench.core.errors import InputError, NoduleBenchError
from nodulebench.io.bundle import write_reference
from nodulebench.io.formats import read_reference
from nodulebench.io.readings import write_findings
from nodulebench.reference.service import BuildReferenceOptions, build_reference_files
from nodulebench.reference.spread import (
    SpreadOptions,
    flipped_marks,
    reference_variants,
    score_under,
)

FOUR = ("1", "2", "3", "4")
DRAWN = readings(
    read(
        "a",
        *(block(reader, (0, 0), (3, 3), texture=5) for reader in FOUR[:3]),
        block("4", (30, 30), (33, 33)),
        point("1", 7.0, 8.0, 0.0),
        readers=FOUR,
    ),
    read("b", *(block(reader, (9, 9), (12, 12)) for reader in FOUR)),
)


@pytest.fixture
def findings(tmp_path: Path) -> Path:
    write_findings(DRAWN, tmp_path / "findings")
    return tmp_path / "findings"


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(nodulebench, [str(argument) for argument in arguments])


def test_a_bundle_with_its_provenance_is_written(findings: Path, tmp_path: Path) -> None:
    built = build_reference_files(
        BuildReferenceOptions(
            source=findings, out=tmp_path / "out", parameters={"minimum_agreement": "4"}
        )
    )
    back = read_reference(tmp_path / "out")
    assert back.nodules.equals(built.reference.nodules)
    assert back.nodules["is_ignored"].to_list() == [True] * 5 + [False] + [True] * 3
    provenance = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert (provenance["rule"], provenance["size_definition"]) == ("luna16", "volume_equivalent")
    assert provenance["parameters"] == {
        "minimum_agreement": 4,
        "counts": "findings",
        "average": "recursive",
        "same_reader": False,
    }
    assert provenance["agreement"][2] == {
        "level": 3,
        "nodules_by_findings": 2,
        "nodules_by_readers": 2,
    }
    assert provenance["digest"].startswith("sha256:")


def test_nothing_is_written_if_anything_is_wrong(findings: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        build_reference_files(
            BuildReferenceOptions(
                source=findings, out=tmp_path / "out", parameters={"colour": "red"}
            )
        )
    (tmp_path / "series.csv").write_text("a\nz\n")
    with pytest.raises(InputError, match="case 'z' is not in the test set"):
        build_reference_files(
            BuildReferenceOptions(
                source=findings, out=tmp_path / "out", series=tmp_path / "series.csv"
            )
        )
    assert not (tmp_path / "out").exists()


def test_the_command_prints_counts_by_agreement(findings: Path, tmp_path: Path) -> None:
    done = run(
        "reference", "build", findings, "--out", tmp_path / "out", "--reference-rule", "majority"
    )
    assert done.exit_code == 0, done.output
    assert done.output.splitlines()[:7] == [
        "9 findings in 2 cases: 8 nodules, 1 nodules below 3 mm, 0 non-nodules",
        "nodules with at least   findings   readers",
        "                    1          3         3",
        "                    2          2         2",
        "                    3          2         2",
        "                    4          1         1",
        "rule majority: 2 nodules, 2 ignored findings",
    ]


def test_findings_can_be_written_and_used_again(findings: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    build_reference_files(BuildReferenceOptions(source=findings, findings=again))
    first, other = (
        build_reference_files(BuildReferenceOptions(source=source)).reference
        for source in (findings, again)
    )
    assert first.nodules.equals(other.nodules)


def test_the_command_compares_two_references(findings: Path, tmp_path: Path) -> None:
    for rule in ("luna16", "union"):
        assert (
            run(
                "reference", "build", findings, "--out", tmp_path / rule, "--reference-rule", rule
            ).exit_code
            == 0
        )
    done = run("reference", "compare", tmp_path / "luna16", tmp_path / "union")
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == (
        f"2 cases in common: 2 nodules in both, 0 only in {tmp_path / 'luna16'}, "
        f"1 only in {tmp_path / 'union'}"
    )
    assert lines[1] == "distance: median 0.0000 mm, 95th percentile 0.0000 mm, largest 0.0000 mm"
    assert lines[3] == (
        f"only in {tmp_path / 'union'}: case a nodule-2 at (31.5, 31.5, 0.0) mm, diameter 3.1 mm"
    )


def test_what_was_not_measured_is_not_compared(tmp_path: Path) -> None:
    places = (0, 0, 0), (50, 0, 0), (0, 50, 0)
    sizes = {"first": (8, 9, None), "second": (None, 10, None)}
    for name, known in sizes.items():
        nodules = (nodule(size, at) for size, at in zip(known, places, strict=True))
        write_reference(reference(case("a", *nodules)), tmp_path / name)
    done = run("reference", "compare", tmp_path / "first", tmp_path / "second")
    assert done.exit_code == 0, done.output
    assert done.output.splitlines() == [
        f"1 cases in common: 2 nodules in both, 1 only in {tmp_path / 'first'}, "
        f"1 only in {tmp_path / 'second'}",
        "distance: median 0.0000 mm, 95th percentile 0.0000 mm, largest 0.0000 mm",
        "diameter difference: median 1.0000 mm, 95th percentile 1.0000 mm, largest 1.0000 mm",
        "diameters not compared: 1 nodule in both, not measured in one of them",
        f"only in {tmp_path / 'first'}: case a n2 at (0.0, 50.0, 0.0) mm, not measured",
        f"only in {tmp_path / 'second'}: case a n2 at (0.0, 50.0, 0.0) mm, not measured",
    ]


def test_a_setting_without_a_value_is_wrong_usage(findings: Path, tmp_path: Path) -> None:
    done = run("reference", "build", findings, "--out", tmp_path / "out", "--set", "average")
    assert done.exit_code == 2
    assert "'average' is not NAME=VALUE." in done.output


def test_an_unknown_rule_is_a_clear_error(findings: Path, tmp_path: Path) -> None:
    done = run(
        "reference", "build", findings, "--out", tmp_path / "out", "--reference-rule", "luna"
    )
    assert isinstance(done.exception, NoduleBenchError)
    assert "there is no reference rule 'luna'. Did you mean 'luna16'?" in str(done.exception)


@pytest.mark.slow
def test_the_command_shows_how_a_score_depends_on_the_readers(
    findings: Path, tmp_path: Path
) -> None:
    marks = tmp_path / "marks.csv"
    marks.write_text("seriesuid,coordX,coordY,coordZ,probability\nb,10.5,10.5,0,0.9\n")
    done = run("reference", "spread", findings, marks, "--out", tmp_path / "spread.csv")
    assert done.exit_code == 0, done.output
    shown = {line[:28].strip(): line[28:].split() for line in done.stdout.splitlines()}
    assert shown["reference"] == ["nodules", "hit", "cpm"]
    assert shown["agreement >= 1"] == ["3", "1", "0.3333"]
    assert shown["agreement >= 3"] == ["2", "1", "0.5000"]
    assert shown["agreement >= 4"] == ["1", "1", "1.0000"]
    assert shown["without reader 4"][:2] == ["2", "1"]
    assert done.stdout.splitlines()[-2] == "cpm from 0.3333 to 1.0000"
    written_table = pl.read_csv(tmp_path / "spread.csv")
    first = ["algorithm", "metric", "reference", "nodules", "hit", "value"]
    assert written_table.select(first).row(0) == ("marks", "cpm", "agreement >= 1", 3, 1, 1 / 3)


def test_a_metric_without_nodules_is_undefined_with_its_reason() -> None:
    cases = (case("a", nodule(8), mark(0.9)), case("b", mark(0.2, (90, 0, 0))))
    whole = reference(*cases)
    empty = reference(case("a"), case("b"))
    table = score_under(
        [("whole", whole), ("empty", empty)],
        submission(*cases),
        protocol(metrics=("recall",)),
        "recall",
    )
    assert table["value"].to_list() == [1.0, None]
    assert table["reason"].to_list()[0] == ""
    assert "nodule" in table["reason"].to_list()[1]
    assert table["nodules"].to_list() == [1, 0]


def test_marks_with_another_label_are_listed_with_their_distance() -> None:
    marks = (mark(0.9, (0, 0, 4.5)), mark(0.8, (50, 0, 0)), mark(0.7, (0, 0, 1)))
    smaller = reference(case("a", nodule(8)), case("b"))
    larger = reference(case("a", nodule(10), nodule(6, (50, 0, 0))), case("b"), case("c"))
    marks_file = submission(case("a", *marks), case("b", mark(0.6)))
    flipped = flipped_marks(smaller, larger, marks_file, protocol(mark_cap=None))
    assert flipped.select("mark_id", "label_first", "label_second").rows() == [
        ("m0", "false_positive", "hit"),
        ("m1", "false_positive", "hit"),
        ("m2", "hit", "duplicate"),
    ]
    assert flipped["outside_mm_first"].to_list() == [0.5, 46.0, -3.0]
    assert flipped["outside_mm_second"].to_list() == [-0.5, -3.0, -4.0]
    assert flipped_marks(smaller, smaller, marks_file, protocol()).height == 0


def test_the_command_lists_marks_with_another_label(findings: Path, tmp_path: Path) -> None:
    for rule in ("luna16", "union"):
        build_reference_files(
            BuildReferenceOptions(source=findings, out=tmp_path / rule, rule=rule)
        )
    marks = tmp_path / "marks.csv"
    marks.write_text("seriesuid,coordX,coordY,coordZ,probability\na,31.5,31.5,0,0.9\n")
    done = run("reference", "compare", tmp_path / "luna16", tmp_path / "union", "--marks", marks)
    assert done.exit_code == 0, done.output
    # 30 * sqrt(2) from the other nodule's centre, less the radius of a sphere of 16 mm3
    assert done.output.splitlines()[-2:] == [
        "1 mark of marks.csv labelled differently",
        "case a mark 2: ignored -> hit, from the nearest surface +40.863 mm -> -1.563 mm",
    ]


def test_variants_have_different_names() -> None:
    names = [name for name, _ in reference_variants(DRAWN)]
    assert len(names) == len(set(names)) == 4 + 4 + 9


@pytest.mark.parametrize(
    ("command", "options"),
    [(commands.build, BuildReferenceOptions), (commands.spread, SpreadOptions)],
)
def test_the_commands_take_the_options_of_the_service(command: Command, options: type) -> None:
    parameters = {param.name for param in command.params} - {"json"}
    assert parameters == {field.name for field in fields(options)}
