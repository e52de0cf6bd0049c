"""Every code that a document can contain has a text for its reader."""

import pytest

from nodulebench.core.cohort import LABEL_NAMES
from nodulebench.core.tables import NODULE_TYPES
from nodulebench.i18n.translator import COUNTS, translator
from nodulebench.matching.rules import RULES as REGISTERED_RULES
from nodulebench.metrics import METRICS as REGISTERED_METRICS

TRANSLATE = translator()


@pytest.mark.parametrize("name", [name for name in REGISTERED_METRICS if name != "f_beta"])
def test_every_metric_has_a_title_and_a_meaning(name: str) -> None:
    metric_text = TRANSLATE.metric(name)
    assert metric_text.title
    assert metric_text.meaning


def test_every_rule_is_described() -> None:
    assert [name for name in REGISTERED_RULES if not TRANSLATE.rule(name)] == []


def test_every_label_has_a_heading_in_the_counts() -> None:
    assert set(COUNTS) >= set(LABEL_NAMES)


def test_f_beta_is_called_by_its_beta() -> None:
    assert TRANSLATE.metric("f1").title == "F1"
    assert TRANSLATE.metric("f1").meaning == "harmonic mean of precision and recall"
    assert TRANSLATE.metric("f0.5").title == "F0.5"
    assert TRANSLATE.metric("f2").meaning == "weighted harmonic mean of precision and recall"


def test_one_reading_of_a_metric_names_its_point() -> None:
    assert TRANSLATE.metric("sensitivity_at_fp_rate/0.125").title == "Sensitivity at 1/8 FP"


def test_unknown_metric_is_called_by_its_name() -> None:
    assert TRANSLATE.metric("my_own_metric").title == "My own metric"
    assert TRANSLATE.metric("my_own_metric").meaning == ""


def test_nodule_types_read_as_words() -> None:
    assert [TRANSLATE.word(name) for name in NODULE_TYPES] == [
        "solid",
        "part-solid",
        "pure ground-glass",
        "calcified",
        "pleural",
        "pleural calcified",
    ]


def test_strata_of_other_columns_are_called_by_the_column() -> None:
    assert TRANSLATE.stratum("size") == "Nodule size"
    assert TRANSLATE.stratum("scanner_model") == "Scanner model"
