"""The plan command: each calculator prints its answer, what it assumes, and a curve."""

import re
from pathlib import Path

import pytest
from scipy import stats

from builders.made_up import write_made_up_result
from nodulebench.cli import main


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return int(stopped.value.code or 0)


def plan(capsys, *arguments: object) -> str:
    assert run("plan", *arguments) == 0
    output = str(capsys.readouterr().out)
    assert "\nassumptions\n" in output
    assert "  Method: " in output
    return output


def curve(output: str) -> dict[int, tuple[float, bool]]:
    """Size -> value and whether it is marked as enough."""
    rows = re.findall(r"^ *(\d+)  (\d\.\d+) *(\*?) *█*$", output, re.MULTILINE)
    return {int(size): (float(value), mark == "*") for size, value, mark in rows}


def test_a_sensitivity_needs_nodules_times_the_design_effect(capsys) -> None:
    output = plan(
        capsys,
        *("sensitivity", "--sensitivity", 0.85, "--half-width", 0.05),
        *("--nodules-per-patient", 10.3, "--nodules-sd", 0, "--nodule-correlation", 0.1),
    )
    assert "\n379 nodules\n" in output  # 195.9 x 1.93
    assert "independent nodules: 196" in output
    assert "design effect: 1.93" in output
    assert "patients: 37" in output
    assert curve(output)[379] == (0.05, True)
    assert not curve(output)[332][1]


def test_nodules_per_patient_are_counted_in_a_reference_of_a_pilot(capsys, tmp_path: Path) -> None:
    (tmp_path / "seriesuids.csv").write_text("a\nb\nc\n")
    nodules = "".join(
        f"{case},{x},0,0,5\n" for case, x in (("a", 0), ("a", 50), ("a", 9), ("b", 0))
    )
    header = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (tmp_path / "annotations.csv").write_text(header + nodules)
    (tmp_path / "annotations_excluded.csv").write_text(header + "c,0,0,0,-1\n")
    arguments = ("--difference", 0.1, "--discordance", 0.2, "--reference", tmp_path)
    output = plan(capsys, "paired", *arguments)
    # patients with 3 and 1 nodules: 10 / 4 = 2.5, 1 + 1.5 x 0.3
    assert (
        "2 nodules on average, standard deviation 1, which correlate with 0.3 (assumed)" in output
    )
    assert "design effect: 1.45" in output
    assert run("plan", "paired", *arguments, "--nodules-sd", 1) == 2
    assert "give either --reference or numbers of nodules" in capsys.readouterr().err


def test_an_acceptance_test_keeps_both_risks(capsys) -> None:
    output = plan(capsys, "acceptance", "--unacceptable", 0.8, "--expected", 0.9)
    size = int(re.findall(r"^(\d+) nodules$", output, re.MULTILINE)[0])
    misses = int(re.findall(r"allowed misses: (\d+)", output)[0])
    assert stats.binom.cdf(misses, size, 0.2) <= 0.05
    assert stats.binom.cdf(misses, size, 0.1) >= 0.8
    assert f"needed hits: {size - misses}" in output
    assert curve(output)[size][1]


def test_two_algorithms_are_planned_by_their_discordance(capsys) -> None:
    output = plan(capsys, "paired", "--difference", 0.05, "--discordance", 0.15)
    assert "How many nodules are needed to show that two algorithms differ?" in output
    # Connor 1987 by hand: (1.959964 sqrt(.15) + .841621 sqrt(.15 - .0025))^2 / .05^2 = 468.4
    assert "\n469 nodules\n" in output
    margin = plan(capsys, "paired", "--difference", 0, "--discordance", 0.15, "--margin", 0.05)
    assert "one-sided at 0.025" in margin
    # (1.959964 + .841621)^2 x .15 / .05^2 = 470.9
    assert "\n471 nodules\n" in margin


def test_false_positives_are_planned_for_a_precision_or_for_a_limit(capsys) -> None:
    output = plan(capsys, "false-positives", "--rate", 2, "--half-width", 0.3, "--dispersion", 0.5)
    assert "\n171 cases\n" in output  # 1.96^2 (2 + .5 x 4) / .3^2 = 170.7
    limit = plan(capsys, "false-positives", "--unacceptable", 2, "--expected", 1.5)
    size = int(re.findall(r"^(\d+) cases$", limit, re.MULTILINE)[0])
    allowed = int(re.findall(r"allowed false positives: (\d+)", limit)[0])
    assert stats.poisson.cdf(allowed, 2 * size) <= 0.05
    assert stats.poisson.cdf(allowed, 1.5 * size) >= 0.8


def test_an_area_is_planned_for_a_precision_or_against_another(capsys) -> None:
    output = plan(capsys, "auc", "--auc", 0.9, "--half-width", 0.06297)
    assert "\n50 positives\n" in output  # Hanley-McNeil: SE .032124 with 50 and 50
    output = plan(capsys, "auc", "--baseline-auc", 0.8, "--expected", 0.85, "--correlation", 0.5)
    assert "How many positives are needed to distinguish areas of 0.8 and 0.85?" in output


def test_readers_are_planned_from_a_pilots_components(capsys) -> None:
    output = plan(
        capsys,
        *("readers", "--difference", 0.05, "--readers", 5, "--pilot-cases", 114),
        *("--variance", 8.0229e-4, "--covariance-1", 3.4661e-4, "--covariance-2", 3.4407e-4),
        *("--covariance-3", 2.3903e-4, "--treatment-reader-square", 5.51031e-4),
    )
    assert "How many cases must 5 readers read to detect a gain of 0.05?" in output
    assert curve(output)[int(re.findall(r"^(\d+) cases$", output, re.MULTILINE)[0])][1]


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pilot") / "out"
    write_made_up_result(out, cases=40, nodules=200)
    return out


def test_a_metric_is_planned_by_simulation_from_a_pilot(capsys, pilot: Path) -> None:
    output = plan(
        capsys,
        *("froc", pilot, "--algorithm", "careful", "--baseline", "eager", "--metric", "recall"),
        *("--simulations", 200, "--size", 10, "--size", 4000),
    )
    assert "How many patients are needed to show that the algorithm is better?" in output
    assert "Patients are like the 20 of the pilot set." in output
    assert list(curve(output)) == [10, 4000]
    assert curve(output)[4000] == (1.0, True)  # so large a set shows any difference


def test_default_sizes_are_around_the_size_of_the_pilot(capsys, pilot: Path) -> None:
    output = plan(
        capsys,
        *("froc", pilot, "--algorithm", "careful", "--baseline", "eager", "--simulations", 100),
        *("--rule", "center_distance", "--margin", 0.1),
    )
    assert list(curve(output)) == [10, 15, 20, 30, 40, 60, 80, 120, 160]
    assert "that the algorithm loses less than 0.1" in output


def test_a_missing_sufficient_size_is_reported(capsys, pilot: Path) -> None:
    output = plan(
        capsys,
        *("froc", pilot, "--algorithm", "careful", "--baseline", "eager", "--difference", 0),
        *("--simulations", 100, "--size", 10),
    )
    assert "None of the sizes is sufficient." in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--algorithm", "carful", "--baseline", "eager"), "there is no algorithm 'carful'."),
        (
            ("--algorithm", "careful", "--baseline", "eager", "--rule", "luna16"),
            "there is no rule 'luna16'. Known: center_hit, center_distance, area_overlap.",
        ),
        (
            ("--algorithm", "careful", "--baseline", "eager", "--metric", "fp_per_case"),
            "metric 'fp_per_case': is not one number that is better when higher.",
        ),
        (
            ("--algorithm", "careful", "--baseline", "eager", "--metric", "recal"),
            "there is no metric 'recal'. Did you mean 'recall'",
        ),
    ],
)
def test_a_pilot_without_the_requested_data_prints_one_line(
    capsys, pilot: Path, arguments: tuple[str, ...], message: str
) -> None:
    assert run("plan", "froc", pilot, *arguments) == 1
    errors = capsys.readouterr().err
    assert errors.startswith(f"error: {message}")
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("false-positives",), "give either --rate and --half-width, or --unacceptable"),
        (("false-positives", "--rate", "2"), "Missing option '--half-width'."),
        (("false-positives", "--unacceptable", "2"), "Missing option '--expected'."),
        (("auc", "--auc", "0.9", "--baseline-auc", "0.8"), "give either --auc and --half-width"),
        (("auc", "--baseline-auc", "0.8"), "Missing option '--expected'."),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(
    capsys, arguments: tuple[str, ...], message: str
) -> None:
    assert run("plan", *arguments) == 2
    assert message in capsys.readouterr().err


def test_observed_errors_of_size_replace_the_normal_distribution(tmp_path: Path, capsys) -> None:
    table = tmp_path / "sizes.csv"
    table.write_text("true_mm,reported_mm\n4,3.4\n4.5,4.5\n12,10\n14,14.5\n")
    arguments = ("plan", "size-error", "--mean-excess", 2, "--tolerance", 0)
    assert run(*arguments, "--errors", table) == 0
    output = capsys.readouterr().out
    assert f"Errors of size are those of 4 nodules of {table}, the same at every size." in output
    # of sizes x = 4 + excess, -2 loses excess < 2, -0.6 excess < 0.6: (1 - e^-1 + 1 - e^-0.3) / 4
    assert " 0.2228" in output
    assert run(*arguments, "--errors", table, "--edge", 8) == 0
    output = capsys.readouterr().out
    assert "separately below and above 8 mm" in output
    assert " 0.1295" in output  # below 8 mm only -0.6 of two errors: (1 - e^-0.3) / 2
    assert run(*arguments, "--errors", table, "--error-sd", 1) == 2
    assert "give either --error-sd or --errors" in capsys.readouterr().err
    assert run(*arguments, "--errors", table, "--edge", 20) == 1
    assert "size class 2 of 2 has no observed errors" in capsys.readouterr().err
