"""nodulebench plan: sample size calculators."""

import inspect
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nodulebench.cli.options import (
    COUNT,
    FILE,
    NOT_NEGATIVE,
    PATH,
    POSITIVE,
    SHARE,
    Command,
    call_with,
    option,
)
from nodulebench.cli.output import print_sample_size
from nodulebench.cli.terminal import ProgressLine, json_option, print_json
from nodulebench.core.json_types import JsonObject
from nodulebench.i18n.translator import in_english

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from nodulebench.evaluation.sample_size import Plan


INSIDE = click.FloatRange(0, 1, min_open=True, max_open=True)

level = option("--level", INSIDE, 0.95, "Confidence level.")
alpha = option("--alpha", INSIDE, 0.05, "Significance level.")
power = option("--power", INSIDE, 0.8, "Power.")
half_width = click.option(
    "--half-width", type=POSITIVE, help="Half the width of the confidence interval."
)
ratio = option("--negatives-per-positive", POSITIVE, 1.0, "Number of negatives for each positive.")


def clusters(assumed_correlation: float) -> "Callable[[Command], Command]":
    """Options for the number of nodules per patient and their correlation."""
    kinds = {
        "--nodules-per-patient": (
            click.FloatRange(min=1),
            "Mean number of nodules in a patient with nodules.  [default: 1]",
        ),
        "--nodules-sd": (
            NOT_NEGATIVE,
            "Standard deviation of that number.  [default: geometric]",
        ),
        "--reference": (PATH, "Test set of a pilot, to take both numbers from."),
        "--nodule-correlation": (
            SHARE,
            "Correlation between nodules of a patient.  "
            f"[default: {assumed_correlation:g}, which is cautious]",
        ),
    }

    def decorated(command: Command) -> Command:
        for name, (kind, words) in reversed(kinds.items()):
            command = click.option(name, type=kind, help=words)(command)
        return command

    return decorated


@click.command("sensitivity")
@click.option("--sensitivity", type=INSIDE, required=True, help="Expected sensitivity.")
@click.option(
    "--half-width", type=INSIDE, required=True, help="Half the width of the confidence interval."
)
@clusters(0.5)
@level
def sensitivity(**given: object) -> None:
    r"""Size a test for a given precision of the sensitivity.

    \b
    nodulebench plan sensitivity --sensitivity 0.85 --half-width 0.05
    """
    from nodulebench.evaluation.sample_size import size_for_sensitivity

    _print_size(size_for_sensitivity, _with_clusters(given), "half_width")


@click.command("acceptance")
@click.option(
    "--unacceptable", type=INSIDE, required=True, help="Value that must not pass the test."
)
@click.option(
    "--expected", type=INSIDE, required=True, help="Expected value, which should pass the test."
)
@alpha
@power
def acceptance(**given: object) -> None:
    r"""Size a test that the sensitivity is acceptable.

    \b
    nodulebench plan acceptance --unacceptable 0.7 --expected 0.85
    """
    from nodulebench.evaluation.sample_size import size_for_acceptance

    _print_size(size_for_acceptance, given, "power")


@click.command("paired")
@click.option(
    "--difference",
    type=click.FloatRange(-1, 1),
    required=True,
    help="Expected difference, new minus old.",
)
@click.option(
    "--discordance",
    type=INSIDE,
    required=True,
    help="Share of nodules that only one of the two finds.",
)
@click.option(
    "--margin", type=POSITIVE, help="Margin of non-inferiority; without it, a difference is shown."
)
@clusters(0.3)
@alpha
@power
def paired(**given: object) -> None:
    r"""Size a comparison of two algorithms on the same nodules.

    \b
    nodulebench plan paired --difference 0.05 --discordance 0.15
    """
    from nodulebench.evaluation.sample_size import size_for_paired_detection

    _print_size(size_for_paired_detection, _with_clusters(given), "power")


@click.command("false-positives")
@click.option("--rate", type=POSITIVE, help="Expected false positives per case.")
@half_width
@click.option("--unacceptable", type=POSITIVE, help="Value that must not pass the test.")
@click.option("--expected", type=POSITIVE, help="Expected value, which should pass the test.")
@option(
    "--dispersion",
    NOT_NEGATIVE,
    0.0,
    "Dispersion: the variance per case is rate + dispersion x rate^2.",
)
@alpha
@power
@level
def false_positives(**given: object) -> None:
    r"""Size a test of the false positives per case.

    Give --rate and --half-width for a precision, --unacceptable and --expected for a test.

    \b
    nodulebench plan false-positives --rate 2 --half-width 0.3
    nodulebench plan false-positives --unacceptable 2 --expected 1.5
    """
    from nodulebench.evaluation.sample_size import (
        size_for_false_positive_limit,
        size_for_false_positives,
    )

    if (given["rate"] is None) == (given["unacceptable"] is None):
        raise click.UsageError("give either --rate and --half-width, or --unacceptable")
    if given["rate"] is not None:
        _print_size(size_for_false_positives, given, "half_width")
    else:
        _print_size(size_for_false_positive_limit, given, "power")


@click.command("auc")
@click.option("--auc", type=click.FloatRange(0.5, 1), help="Expected area under the curve.")
@half_width
@click.option(
    "--baseline-auc", "baseline", type=click.FloatRange(0.5, 1), help="Area of the old algorithm."
)
@click.option(
    "--expected", type=click.FloatRange(0.5, 1), help="Expected value, which should pass the test."
)
@option(
    "--correlation",
    click.FloatRange(0, 0.999),
    0.0,
    "Correlation of the two estimates; 0 for different cases.",
)
@ratio
@option(
    "--variance-method",
    ["hanley_mcneil", "obuchowski"],
    "hanley_mcneil",
    "Formula of the variance.",
    to="variance",
)
@alpha
@power
@level
def auc(**given: object) -> None:
    r"""Size a test of one or two areas under the ROC curve.

    Give --auc and --half-width for a precision, --baseline-auc and --expected for a comparison.

    \b
    nodulebench plan auc --auc 0.9 --half-width 0.05
    nodulebench plan auc --baseline-auc 0.8 --expected 0.85 --correlation 0.5
    """
    from nodulebench.evaluation.sample_size import size_for_auc, size_for_auc_difference

    if (given["auc"] is None) == (given["baseline"] is None):
        raise click.UsageError(
            "give either --auc and --half-width, or --baseline-auc and --expected"
        )
    if given["auc"] is not None:
        _print_size(size_for_auc, given, "half_width")
    else:
        _print_size(size_for_auc_difference, given, "power")


@click.command("froc")
@click.argument("folder", metavar="FOLDER", type=FILE)
@click.option("--algorithm", required=True, help="Name of the new algorithm.")
@click.option("--baseline", required=True, help="Algorithm to compare with.")
@option("--metric", str, "cpm", "Metric.")
@click.option("--rule", help="Mark rule.  [default: the first of the protocol]")
@option("--margin", NOT_NEGATIVE, 0.0, "Margin of non-inferiority; 0 for superiority.")
@click.option(
    "--difference", type=float, help="Expected difference, new minus old.  [default: the pilot's]"
)
@click.option(
    "--size", "sizes", type=COUNT, multiple=True, help="Number of patients to try; may be repeated."
)
@option("--simulations", click.IntRange(min=100), 1000, "Number of simulations.")
@power
def froc(power: float, **options: object) -> None:
    r"""Size a comparison by CPM from a pilot, by simulation.

    FOLDER is the result of a pilot that `evaluate` wrote for both algorithms. Other metrics
    are possible.

    \b
    nodulebench plan froc pilot/ --algorithm new --baseline old --margin 0.05
    """
    from nodulebench.evaluation.sample_size import PilotPlanOptions, plan_from_pilot

    with ProgressLine("simulating"):
        plan = plan_from_pilot(call_with(PilotPlanOptions, options, power=power))
    print_sample_size(plan, power)


@click.command("readers")
@click.option(
    "--difference", type=POSITIVE, required=True, help="Expected difference, new minus old."
)
@click.option("--readers", type=click.IntRange(min=2), required=True, help="Number of readers.")
@click.option("--pilot", type=FILE, help="File from 'annotate observer analyse --out'.")
@click.option("--pilot-cases", type=click.IntRange(min=2), help="Number of cases in the pilot.")
@click.option("--variance", type=POSITIVE, help="Variance of the metric over cases.")
@click.option("--covariance-1", type=float, help="Covariance: same reader, other treatment.")
@click.option("--covariance-2", type=float, help="Covariance: other reader, same treatment.")
@click.option("--covariance-3", type=float, help="Covariance: other reader and treatment.")
@click.option(
    "--treatment-reader-square",
    type=NOT_NEGATIVE,
    help="Mean square of the interaction of treatments and readers.",
)
@alpha
@power
def readers(
    difference: float,
    readers: int,
    pilot: Path | None,
    alpha: float,
    power: float,
    **numbers: float | None,
) -> None:
    r"""Size a reader study with and without CAD.

    \b
    nodulebench plan readers --difference 0.05 --readers 5 --pilot study.json
    nodulebench plan readers --difference 0.05 --readers 5 --pilot-cases 100 \
        --variance 0.0008 --covariance-1 0.0003 --covariance-2 0.0003 \
        --covariance-3 0.0002 --treatment-reader-square 0.0001
    """
    from nodulebench.evaluation.sample_size import Components, pilot_study, size_for_reader_study

    if pilot is not None and any(number is not None for number in numbers.values()):
        raise click.UsageError("give either --pilot or its numbers")
    if pilot is not None:
        components, cases = pilot_study(pilot)
    else:
        given = {name: number for name, number in numbers.items() if number is not None}
        _require(numbers, given)
        cases = int(given.pop("pilot_cases"))
        components = call_with(
            Components, given, treatment_square=0.0
        )  # the power does not depend on it
    plan = size_for_reader_study(
        components,
        pilot_cases=cases,
        difference=difference,
        readers=readers,
        alpha=alpha,
        power=power,
    )
    print_sample_size(plan, power)


def _with_clusters(given: JsonObject) -> JsonObject:
    """The options, with the mean and SD of nodules per patient from a reference if given."""
    given["correlation"] = given.pop("nodule_correlation")
    if given["reference"] is None:
        return given
    if given["nodules_per_patient"] is not None or given["nodules_sd"] is not None:
        raise click.UsageError("give either --reference or numbers of nodules")
    from nodulebench.evaluation.sample_size import nodules_of_patients

    return given | nodules_of_patients(given["reference"])


def _print_size(calculator: "Callable[..., Plan]", given: JsonObject, wanted: str) -> None:
    """Call a calculator with its options, and check that the required ones are given."""
    parameters = inspect.signature(calculator).parameters
    arguments = {name: given[name] for name in parameters if given.get(name) is not None}
    required = (
        name for name, parameter in parameters.items() if parameter.default is parameter.empty
    )
    _require(required, arguments)
    print_sample_size(calculator(**arguments), given[wanted])


def _require(names: "Iterable[str]", given: JsonObject) -> None:
    for name in names:
        if name not in given:
            raise click.UsageError(f"Missing option '--{name.replace('_', '-')}'.")


COMMANDS = (sensitivity, acceptance, paired, false_positives, auc, froc, readers)


@click.group("plan")
def command() -> None:
    """Compute sample sizes. To freeze acceptance criteria, see test-plan."""


for calculator in COMMANDS:
    command.add_command(json_option(calculator))


@command.command("size-error")
@option("--minimum", POSITIVE, 4.0, "Smallest reported size.", to="minimum_mm")
@click.option("--error-sd", type=POSITIVE, help="Standard deviation of the size error.")
@option("--error-mean", float, 0.0, "Mean of the size error.")
@click.option(
    "--reference", type=PATH, help="Test set whose nodule sizes are used instead of a distribution."
)
@click.option("--errors", type=FILE, help="Table of observed sizes: true_mm, reported_mm.")
@click.option(
    "--edge",
    "edges",
    type=POSITIVE,
    multiple=True,
    help="Size between groups with different errors; may be repeated.",
)
@option(
    "--mean-excess", POSITIVE, 2.0, "Mean of the sizes above the smallest one.", to="mean_excess_mm"
)
@option(
    "--tolerance",
    NOT_NEGATIVE,
    (0.0, 0.25, 0.5, 1.0, 2.0),
    "Tolerance for the size error; may be repeated.",
    to="tolerances_mm",
    multiple=True,
)
@option("--sensitivity", SHARE, 1.0, "Expected sensitivity.")
@json_option
def size_error(
    error_sd: float | None,
    error_mean: float,
    errors: Path | None,
    edges: tuple[float, ...],
    **chosen: object,
) -> None:
    r"""Compute the effect of size errors at a smallest size.

    The method is that of Fotin 2008.

    \b
    nodulebench plan size-error --minimum 4 --error-sd 0.6
    """
    from nodulebench.evaluation.sample_size import normal_errors, observed_errors, plan_size_error

    if errors is not None and error_sd is None:
        model = observed_errors(errors, edges)
    elif error_sd is not None and errors is None:
        model = normal_errors(error_mean, error_sd)
    else:
        raise click.UsageError("give either --error-sd or --errors")
    plan = call_with(plan_size_error, chosen, model)
    print_json(plan)
    for assumption in plan.assumptions:
        click.echo(in_english(assumption))
    columns = f"{'tolerance mm':>12} {'lost':>8} {'sensitivity':>12} {'shown though too small':>23}"
    click.secho(f"\n{columns}", bold=True)
    for row in plan.rows:
        small = "–" if row.overestimated is None else f"{row.overestimated:.4f}"
        click.echo(f"{row.tolerance_mm:>12g} {row.lost:>8.5f} {row.sensitivity:>12.4f} {small:>23}")
