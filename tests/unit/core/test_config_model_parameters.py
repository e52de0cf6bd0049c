"""Parameters by a function's signature: what has no place there is told, never left out."""

from typing import Annotated

import pytest
from pydantic import Field

from nodulebench.core.config_model import checked_parameters, parameters_of
from nodulebench.core.errors import InputError


def rule(
    scene: object, *, radius_mm: Annotated[float, Field(gt=0)], share: float = 0.5
) -> tuple[object, float, float]:
    return scene, radius_mm, share


def problems(**given: object) -> list[str]:
    with pytest.raises(InputError) as caught:
        checked_parameters(rule, given, "rule 'r'")
    return [str(problem) for problem in caught.value.problems]


def test_keyword_only_parameters_only_are_settings() -> None:
    assert list(parameters_of(rule)) == ["radius_mm", "share"]


def test_text_becomes_what_the_annotation_wants() -> None:
    assert checked_parameters(rule, {"radius_mm": "3"}, "rule") == {"radius_mm": 3.0}


def test_a_misspelt_name_is_reported_with_what_was_meant() -> None:
    assert problems(radius_mm=1, shard=0.3) == [
        "rule 'r': has no parameter 'shard'. Did you mean 'share'? "
        "Its parameters: radius_mm, share."
    ]


def test_all_that_is_wrong_is_reported_at_once() -> None:
    assert problems(zzz=1) == [
        "rule 'r': needs the parameter 'radius_mm'.",
        "rule 'r': has no parameter 'zzz'. Its parameters: radius_mm, share.",
    ]
    assert problems(radius_mm=-1) == [
        "rule 'r': cannot take radius_mm = -1: Input should be greater than 0."
    ]
