"""nodulebench plan sensitivity, acceptance, paired, ...: how large a test has to be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from nodulebench.cli.plan.show import print_sample_size

Command = TypeVar("Command", bound=Callable[..., Any])

SHARE = click.FloatRange(0, 1, min_open=True, max_open=True)
POSITIVE = click.FloatRange(min=0, min_open=True)

level = click.option(
    "--level", type=SHARE, default=0.95, show_default=True, help="Confidence level."
)
alpha = click.option(
    "--alpha", type=SHARE, default=0.05, show_default=True, help="Chance to pass wrongly."
)
power = click.option(
    "--power", type=SHARE, default=0.8, show_default=True, help="Chance to pass rightly, at least."
)
CLUSTERS = (
    click.option(
        "--nodules-per-patient",
        type=click.FloatRange(min=1),
        help="Mean number of nodules in a patient that has any; default: 1.",
    ),
    click.option(
        "--nodules-sd",
        type=click.FloatRange(min=0),
        help="Its standard deviation; default: that of geometric numbers, a long tail.",
    ),
    click.option(
        "--reference",
        type=click.Path(path_type=Path),
        help="Take both from this reference of a pilot instead.",
    ),
)
"""How many nodules patients have."""


def clusters(assumed_correlation: float) -> Callable[[Command], Command]:
    """Options that say how many nodules patients have and how alike they are."""
    correlation = click.option(
        "--correlation",
        type=click.FloatRange(0, 1),
        help="Between nodules of one patient, of being found (paired: of the difference); "
        f"default: a cautious {assumed_correlation:g}.",
    )

    def decorated(command: Command) -> Command:
        for option in (correlation, *reversed(CLUSTERS)):
            command = option(command)
        return command

    return decorated


half_width = click.option(
    "--half-width", type=POSITIVE, help="Half the width of the interval that is wanted."
)
ratio = click.option(
    "--negatives-per-positive",
    type=POSITIVE,
    default=1.0,
    show_default=True,
    help="Cases (or nodules) without the finding for each one with it.",
)


@click.command("sensitivity")
@click.option("--sensitivity", type=SHARE, required=True, help="Sensitivity expected.")
@click.option(
    "--half-width", type=SHARE, required=True, help="Half the width of the interval wanted."
)
@clusters(0.5)
@level
def sensitivity(**given: Any) -> None:
    """Nodules and patients for a sensitivity that is known to so much."""
    from nodulebench.workflows.plan.sizes import size_for_sensitivity

    print_sample_size(size_for_sensitivity(**_with_clusters(given)), given["half_width"])


@click.command("acceptance")
@click.option(
    "--unacceptable", type=SHARE, required=True, help="Sensitivity that must not pass the test."
)
@click.option("--expected", type=SHARE, required=True, help="Sensitivity that shall pass.")
@alpha
@power
def acceptance(**given: Any) -> None:
    """Smallest exact test of a claim 'sensitivity above ...': nodules and allowed misses."""
    from nodulebench.workflows.plan.sizes import size_for_acceptance

    print_sample_size(size_for_acceptance(**given), given["power"])


@click.command("paired")
@click.option(
    "--difference",
    type=click.FloatRange(-1, 1),
    required=True,
    help="Sensitivity of the new algorithm less that of the other, expected.",
)
@click.option(
    "--discordance",
    type=SHARE,
    required=True,
    help="Share of nodules that exactly one of the two finds.",
)
@click.option("--margin", type=POSITIVE, help="Show non-inferiority by this margin instead.")
@clusters(0.3)
@alpha
@power
def paired(**given: Any) -> None:
    """Nodules that tell two algorithms apart, or show that one is not inferior."""
    from nodulebench.workflows.plan.sizes import size_for_paired_detection

    print_sample_size(size_for_paired_detection(**_with_clusters(given)), given["power"])


@click.command("false-positives")
@click.option("--rate", type=POSITIVE, help="False positives per case expected (for a precision).")
@half_width
@click.option("--unacceptable", type=POSITIVE, help="Rate that must not pass (for a test).")
@click.option("--expected", type=POSITIVE, help="Rate that shall pass (for a test).")
@click.option(
    "--dispersion",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Counts of a case have the variance rate + dispersion x rate^2.",
)
@alpha
@power
@level
def false_positives(
    rate: float | None,
    half_width: float | None,
    unacceptable: float | None,
    expected: float | None,
    dispersion: float,
    alpha: float,
    power: float,
    level: float,
) -> None:
    r"""Cases for false positives per case: to a precision, or for an acceptance test.

    \b
    nodulebench plan false-positives --rate 2 --half-width 0.3
    nodulebench plan false-positives --unacceptable 2 --expected 1.5
    """
    from nodulebench.workflows.plan.sizes import (
        size_for_false_positive_limit,
        size_for_false_positives,
    )

    if (rate is None) == (unacceptable is None):
        raise click.UsageError("give either --rate and --half-width, or --unacceptable")
    if rate is not None:
        width = _required("--half-width", half_width)
        plan = size_for_false_positives(
            rate=rate, half_width=width, dispersion=dispersion, level=level
        )
        print_sample_size(plan, width)
        return
    plan = size_for_false_positive_limit(
        unacceptable=_required("--unacceptable", unacceptable),
        expected=_required("--expected", expected),
        dispersion=dispersion,
        alpha=alpha,
        power=power,
    )
    print_sample_size(plan, power)


@click.command("auc")
@click.option("--auc", type=click.FloatRange(0.5, 1), help="Area expected (for a precision).")
@half_width
@click.option("--baseline", type=click.FloatRange(0.5, 1), help="Area of the one algorithm.")
@click.option("--expected", type=click.FloatRange(0.5, 1), help="Area of the other.")
@click.option(
    "--correlation",
    type=click.FloatRange(0, 0.999),
    default=0.0,
    show_default=True,
    help="Between the two estimates; 0: on different cases.",
)
@ratio
@click.option(
    "--variance",
    type=click.Choice(["hanley_mcneil", "obuchowski"]),
    default="hanley_mcneil",
    show_default=True,
)
@alpha
@power
@level
def auc(
    auc: float | None,
    half_width: float | None,
    baseline: float | None,
    expected: float | None,
    correlation: float,
    alpha: float,
    power: float,
    level: float,
    **shared: Any,
) -> None:
    r"""Positives and negatives for an area under the ROC curve, or for two areas.

    \b
    nodulebench plan auc --auc 0.9 --half-width 0.05
    nodulebench plan auc --baseline 0.8 --expected 0.85 --correlation 0.5
    """
    from nodulebench.workflows.plan.sizes import size_for_auc, size_for_auc_difference

    if (auc is None) == (baseline is None):
        raise click.UsageError("give either --auc and --half-width, or --baseline and --expected")
    if auc is not None:
        width = _required("--half-width", half_width)
        print_sample_size(size_for_auc(auc=auc, half_width=width, level=level, **shared), width)
        return
    plan = size_for_auc_difference(
        baseline=_required("--baseline", baseline),
        expected=_required("--expected", expected),
        correlation=correlation,
        alpha=alpha,
        power=power,
        **shared,
    )
    print_sample_size(plan, power)


@click.command("froc")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--algorithm", required=True, help="The algorithm of interest.")
@click.option("--baseline", required=True, help="What it shall be compared with.")
@click.option("--figure", default="cpm", show_default=True, help="Figure of merit.")
@click.option("--rule", help="Mark rule; default: the first of the protocol.")
@click.option(
    "--margin",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="0: show that it is better; else that it loses less than this.",
)
@click.option("--difference", type=float, help="Plan for this difference, not the pilot's.")
@click.option(
    "--size",
    "sizes",
    type=click.IntRange(min=1),
    multiple=True,
    help="Number of patients to try; may be given several times.",
)
@click.option("--simulations", type=click.IntRange(min=100), default=1000, show_default=True)
@power
def froc(folder: Path, power: float, **given: Any) -> None:
    """Patients for a difference in CPM (or another figure), by simulation from a pilot.

    DIR is the folder that evaluate wrote for the pilot set, with both algorithms in it.
    """
    from nodulebench.workflows.plan.from_pilot import plan_from_pilot

    print_sample_size(plan_from_pilot(folder, power=power, **given), power)


@click.command("readers")
@click.option("--difference", type=POSITIVE, required=True, help="Gain in the figure to find.")
@click.option("--readers", type=click.IntRange(min=2), required=True, help="Readers of the study.")
@click.option("--pilot-cases", type=click.IntRange(min=2), required=True)
@click.option("--variance", type=POSITIVE, required=True, help="Of a figure over cases, pilot.")
@click.option("--covariance-1", type=float, required=True, help="Same reader, other treatment.")
@click.option("--covariance-2", type=float, required=True, help="Other reader, same treatment.")
@click.option("--covariance-3", type=float, required=True, help="Other reader and treatment.")
@click.option(
    "--treatment-reader-square",
    type=click.FloatRange(min=0),
    required=True,
    help="Mean square of the interaction of treatments and readers, pilot.",
)
@alpha
@power
def readers(
    difference: float,
    readers: int,
    pilot_cases: int,
    alpha: float,
    power: float,
    **components: float,
) -> None:
    """Cases that readers have to read with and without CAD, from a pilot's components."""
    from nodulebench.workflows.plan.sizes import Components, size_for_reader_study

    plan = size_for_reader_study(
        Components(treatment_square=0.0, **components),  # the power does not depend on it
        pilot_cases=pilot_cases,
        difference=difference,
        readers=readers,
        alpha=alpha,
        power=power,
    )
    print_sample_size(plan, power)


def _with_clusters(given: dict[str, Any]) -> dict[str, Any]:
    """What was given, with the mean and spread of nodules per patient from where they are."""
    own = ("nodules_per_patient", "nodules_sd")
    rest = {name: value for name, value in given.items() if name not in (*own, "reference")}
    stated = {name: given[name] for name in own if given[name] is not None}
    if given["reference"] is None:
        return rest | stated
    if stated:
        raise click.UsageError("give --reference or numbers of nodules, and not both")
    from nodulebench.workflows.plan.sizes import nodules_of_patients

    return rest | nodules_of_patients(given["reference"])


def _required(option: str, value: float | None) -> float:
    if value is None:
        raise click.UsageError(f"Missing option '{option}'.")
    return value


COMMANDS = (sensitivity, acceptance, paired, false_positives, auc, froc, readers)
