"""TestProtocol: everything that can change a number, as people write it in TOML."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from nodulebench.core.config_model import ConfigModel, parse_config
from nodulebench.core.errors import InputError, UnknownNameError, did_you_mean


def _from_word(value: object) -> object:
    """JSON has no infinity, so evaluation.json has the word for it."""
    return float(value) if value in ("inf", "-inf") else value


Parameter = Annotated[bool | int | float | str, BeforeValidator(_from_word)]


SEVEN_RATES = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Where LUNA16 reads the FROC: false positives per case."""


class RuleChoice(ConfigModel):
    """A mark rule by name, with the parameters that differ from its published defaults."""

    name: str
    """Name of a registered mark rule."""
    parameters: dict[str, Parameter] = Field(default_factory=dict)
    """Parameters of the rule by name; what is left out has the rule's default."""


class IntervalChoice(ConfigModel):
    """How intervals are made."""

    method: Literal["guarded", "percentile", "bca", "jackknife", "luna16"] = "guarded"
    """How intervals are made; "luna16" is the official program's own bootstrap. In addition to any
    method
    but "guarded" the guarded interval is given too, and verdicts rest on it."""
    unit: Literal["patient", "case"] = "patient"
    """What is weighted, drawn with replacement, or left out by the jackknife."""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Confidence level."""
    bootstraps: Annotated[int, Field(ge=0)] = 2000
    """Number of replicates; 0: no intervals by resampling."""
    others: tuple[Literal["wilson", "clopper_pearson", "cluster_ratio", "delong"], ...] = ()
    """Further intervals shown in addition to the main one: the first three for proportions,
    DeLong's (of
    Obuchowski's form for several nodules or cases of a patient) for areas under a ROC curve."""


class Scope(ConfigModel):
    """The intended use: references outside it become ignore regions."""

    types: tuple[str, ...] = ()
    """Nodule types that have to be found; empty: all."""
    uses_declaration: bool = False
    """Whether an algorithm's own declared types narrow the scope for that algorithm."""


class SizeLimit(ConfigModel):
    """A smallest size to report, with tolerance for size error (Fotin 2008)."""

    minimum_mm: Annotated[float, Field(gt=0)]
    """The smallest diameter that has to be reported."""
    tolerance_mm: Annotated[float, Field(ge=0)] = 0.0
    """By how much a reported size may be wrong around the smallest one before it counts."""
    reading: Literal["table", "strict_truth"] = "table"
    """Which nodules below the limit are spared: all (the paper's table 2), or those within the
    tolerance of it (its text)."""
    sweep_mm: tuple[Annotated[float, Field(ge=0)], ...] = ()
    """Further tolerances for which counts and curves are reported; inf is allowed."""


class TestProtocol(ConfigModel):
    """A published or own test protocol; its digest is part of every result."""

    __test__ = False  # not a test class, although its name looks like one

    name: str
    """Name of the protocol, shown in every result."""
    title: str = ""
    """What it is, in one line; changes no number."""
    citation: str = ""
    """Where it was published; changes no number."""
    reference_rule: str = ""
    """How the reference standard was made from the readers' findings."""
    rules: tuple[RuleChoice, ...] = Field(min_length=1)
    """The mark rules, each applied to every submission."""
    baseline_rule: str = ""
    """The rule that relative differences and flip lists start from; empty: the first."""
    assignment: Literal["published", "greedy", "optimal"] = "published"
    """How marks and nodules are paired: as each rule was published, nodule by nodule, or as many
    hits as possible."""
    duplicates: Literal["published", "ignore", "false_positive"] = "published"
    """What further marks on a nodule are: as each rule was published, left out, or false
    positives."""
    ties: Literal["drop", "keep", "file_order"] = "keep"
    """What happens to marks tied across the cap."""
    mark_cap: Annotated[int, Field(ge=1)] | None = None
    """How many marks of a case count at most, the highest-scored ones."""
    unlisted_cases: Literal["error", "drop"] = "error"
    """What happens to marks of cases that are not in the test set."""
    metrics: tuple[str, ...] = Field(min_length=1)
    """Names of the metrics to compute."""
    operating_points: tuple[Annotated[float, Field(gt=0)], ...] = SEVEN_RATES
    """False positives per case at which sensitivity is read; their mean is the CPM."""
    interpolation: Literal["linear", "step", "luna16"] = "linear"
    """How the FROC is read between its points; "luna16" keeps the official program's rounding."""
    fpf_points: tuple[Annotated[float, Field(gt=0, lt=1)], ...] = (0.05, 0.2)
    """Fractions of normal cases (or benign nodules) called abnormal, 1 - specificity, at which
    sensitivity and correct localisation are read, and until which partial areas reach."""
    score_threshold: float | None = None
    """Marks below it do not count, for tests at a fixed operating point."""
    operating_point: Annotated[float, Field(gt=0)] | None = None
    """False positives per case at which everything that no curve gives is read: counts, recall,
    precision, misses, strata. Each algorithm then has the lowest score threshold with no more of
    them; without it every mark counts."""
    malignancy_threshold: float = 0.5
    """A nodule with at least this probability is called malignant."""
    beta: Annotated[float, Field(gt=0)] = 1.0
    """Weight of recall against precision in F-beta."""
    interval: IntervalChoice = IntervalChoice()
    """How intervals are made."""
    strata: tuple[str, ...] = ()
    """Divisions to report: type, size, density, lung_rads_size, fleischner_size, or any column of
    CASES or NODULES. A known column that the test set lacks is reported as not known."""
    stratum_metrics: tuple[str, ...] = ()
    """Metrics, in addition to the miss rate, for strata of nodules: on all cases and their false
    positives,
    with only the stratum's nodules."""
    size_bins_mm: tuple[float, ...] = (4.0, 6.0, 10.0)
    """Cuts of the size strata; each bin holds its lower cut."""
    minimum_stratum: Annotated[int, Field(ge=1)] = 10
    """Strata with fewer nodules are marked as too few."""
    scope: Scope = Scope()
    """The intended use that is tested."""
    size_limit: SizeLimit | None = None
    """A smallest size to report."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the bootstrap."""

    @model_validator(mode="after")
    def _check_luna16_bootstrap(self) -> Self:
        is_official = self.interpolation == "luna16" and self.interval.unit == "case"
        if self.interval.method == "luna16" and not is_official:
            raise ValueError(
                'interval.method "luna16" goes with interpolation "luna16" and unit "case"'
            )
        return self

    @property
    def digest(self) -> str:
        """SHA-256 of the effective values (title and citation change no number)."""
        return self.digest_without("title", "citation")


def read_protocol(path: Path) -> TestProtocol:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError.at(path, f"cannot be read as text: {error}.") from error
    return parse_config(TestProtocol, text, str(path))


PROTOCOL_NAMES = ("luna16", "nifdc-2022", "fg-ai4h", "fg-ai4h-2", "fotin-2008")
"""Published test protocols, one TOML file each; a released one is never edited."""
_PUBLISHED = Path(__file__).parent / "protocols"


def load_protocol(name_or_file: str) -> TestProtocol:
    """A published protocol by its name, or one's own from a TOML file."""
    if name_or_file in PROTOCOL_NAMES:
        text = _PUBLISHED.joinpath(f"{name_or_file}.toml").read_text(encoding="utf-8")
        return parse_config(TestProtocol, text, f"protocol {name_or_file}")
    if name_or_file.endswith(".toml") or Path(name_or_file).exists():
        return read_protocol(Path(name_or_file))
    hint = did_you_mean(name_or_file, PROTOCOL_NAMES)
    raise UnknownNameError(
        f"there is no protocol '{name_or_file}'.{hint} Published protocols: "
        f"{', '.join(PROTOCOL_NAMES)}; or name a TOML file."
    )


def protocol_text(name_or_file: str) -> str:
    load_protocol(name_or_file)
    if name_or_file in PROTOCOL_NAMES:
        return _PUBLISHED.joinpath(f"{name_or_file}.toml").read_text(encoding="utf-8")
    return Path(name_or_file).read_text(encoding="utf-8")
