"""Whatever can stand in a document has words for its reader."""

import pytest

from nodulebench.core.labels import LABEL_NAMES
from nodulebench.core.tables import NODULE_TYPES
from nodulebench.i18n.translator import translator
from nodulebench.matching.rules import RULES as REGISTERED_RULES
from nodulebench.metrics import METRICS as REGISTERED_FIGURES

SAY = translator()


@pytest.mark.parametrize("name", [name for name in REGISTERED_FIGURES if name != "f_beta"])
def test_every_figure_of_merit_has_a_title_and_a_meaning(name: str) -> None:
    said = SAY.figure(name)
    assert said.title
    assert said.meaning


def test_every_rule_is_described() -> None:
    assert [name for name in REGISTERED_RULES if not SAY.rule(name)] == []


def test_every_label_has_a_heading_in_the_counts() -> None:
    assert set(SAY.counts) >= set(LABEL_NAMES)


def test_f_beta_is_called_by_its_beta() -> None:
    assert SAY.figure("f1").title == "F1"
    assert SAY.figure("f1").meaning == "harmonic mean of precision and recall"
    assert SAY.figure("f0.5").title == "F0.5"
    assert SAY.figure("f2").meaning == "weighted harmonic mean of precision and recall"


def test_one_reading_of_a_figure_names_its_point() -> None:
    assert SAY.figure("sensitivity_at_fp_rate/0.125").title == "Sensitivity at 1/8 FP"


def test_unknown_figure_is_called_by_its_name() -> None:
    assert SAY.figure("my_own_figure").title == "My own figure"
    assert SAY.figure("my_own_figure").meaning == ""


def test_nodule_types_read_as_words() -> None:
    assert [SAY.word(name) for name in NODULE_TYPES] == [
        "solid",
        "part-solid",
        "pure ground-glass",
        "calcified",
        "pleural",
        "pleural calcified",
    ]


def test_strata_of_other_columns_are_called_by_the_column() -> None:
    assert SAY.stratum("size") == "Nodule size"
    assert SAY.stratum("scanner_model") == "Scanner model"
