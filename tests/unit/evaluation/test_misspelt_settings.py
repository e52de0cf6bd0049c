"""A misspelt setting is an error everywhere; none silently keeps its default."""

import pytest

from builders.tables import case, cohort, nodule, protocol
from nodulebench.core.config_model import checked_parameters, parse_config
from nodulebench.core.errors import InputError
from nodulebench.core.protocol import TestProtocol
from nodulebench.evaluation.estimates import bind_parameters
from nodulebench.metrics.metric import Ratio
from nodulebench.reference.rules import RULES

BASE = 'name = "p"\nmetrics = ["recall"]\nrules = [{ name = "luna16" }]\n'


def outside_metric(_cohort, _weight, *, operating_pionts=(1.0,)):  # noqa: ARG001
    raise AssertionError("never asked")


@pytest.mark.parametrize(
    "metric",
    [outside_metric, Ratio("outside_metric", outside_metric, "none")],
    ids=["function", "ratio"],
)
def test_a_metric_whose_setting_no_protocol_has_is_refused(metric) -> None:
    with pytest.raises(InputError) as caught:
        bind_parameters(metric, protocol())
    assert str(caught.value) == (
        "metric 'outside_metric' parameter 'operating_pionts': is not a field of a protocol, "
        "so nothing could set it. Did you mean 'operating_points'?"
    )


@pytest.mark.parametrize(
    "more",
    [
        "operating_pionts = [1]",
        "[interval]\nbootstrap = 10",
        "[scope]\ntype = ['solid']",
        "[size_limit]\nminimum_mm = 4\ntolerence_mm = 1",
        "[[rules]]\nname = 'center_hit'\nparameter = { x = 1 }",
    ],
)
def test_a_misspelt_field_of_a_protocol_is_an_error(more: str) -> None:
    text = BASE if not more.startswith("[[rules") else 'name = "p"\nmetrics = ["recall"]\n'
    with pytest.raises(InputError, match=r"is unknown\. Did you mean"):
        parse_config(TestProtocol, f"{text}{more}\n", "p.toml")


def test_a_misspelt_parameter_of_a_mark_rule_is_an_error() -> None:
    with pytest.raises(InputError, match=r"no parameter 'radius_m'\. Did you mean 'radius_mm'"):
        cohort(case("a", nodule()), rule="center_distance", parameters={"radius_m": 3})


def test_a_misspelt_parameter_of_a_reference_rule_is_an_error() -> None:
    with pytest.raises(InputError, match=r"Did you mean 'minimum_agreement'"):
        checked_parameters(RULES["majority"], {"minimum_agreemnt": 2}, "reference rule 'majority'")
