from dataclasses import dataclass

import pytest
from pydantic import Field

from nodulebench.core.config_model import ConfigModel, checked, parse_config
from nodulebench.core.errors import InputError


class Wheel(ConfigModel):
    inches: int = Field(ge=1)


class Car(ConfigModel):
    name: str = "car"
    wheels: tuple[Wheel, ...] = ()
    spare: Wheel | None = None
    by_side: dict[str, Wheel] = Field(default_factory=dict)


def messages_of(text):
    with pytest.raises(InputError) as caught:
        parse_config(Car, text, "car.toml")
    return [str(problem) for problem in caught.value.problems]


def test_a_text_becomes_a_record():
    car = parse_config(Car, 'name = "A"\n[[wheels]]\ninches = 15\n', "car.toml")
    assert car == Car(name="A", wheels=(Wheel(inches=15),))
    assert checked(Car, {"name": "A"}, "car") == Car(name="A")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("nam = 1", "field 'nam': is unknown. Did you mean 'name'?"),
        ("colour = 1", "field 'colour': is unknown. Known: name, wheels, spare, by_side."),
        ("[[wheels]]\ninch = 3", "field 'wheels.0.inch': is unknown. Did you mean 'inches'?"),
        ("[spare]\ninch = 3", "field 'spare.inch': is unknown. Did you mean 'inches'?"),
        (
            "[by_side.left]\ninch = 3",
            "field 'by_side.left.inch': is unknown. Did you mean 'inches'?",
        ),
        ("[spare]\ninches = 0", "field 'spare.inches': Input should be greater than or equal to 1"),
        ("name = 3", "field 'name': Input should be a valid string, got 3."),
    ],
)
def test_a_wrong_field_is_reported_with_its_place_and_what_there_is(text, problem):
    assert any(line.startswith(f"car.toml {problem}") for line in messages_of(text)), messages_of(
        text
    )


def test_all_problems_are_reported_at_once_and_long_values_are_cut():
    result = messages_of(f'colour = 1\n[spare]\ninches = "{"x" * 200}"\n')
    assert len(result) == 2
    assert max(len(line) for line in result) < 250


def test_what_is_not_a_toml_is_reported_with_the_line():
    assert messages_of("name = ")[0].startswith("car.toml: is not valid TOML: Invalid value (at ")


@dataclass(frozen=True)
class Garage:
    cars: tuple[Car, ...] = ()


def test_a_wrong_field_below_what_programs_write_is_reported_alike():
    with pytest.raises(
        InputError, match=r"field 'cars\.0\.spare\.inch': is unknown\. Did you mean"
    ):
        checked(Garage, {"cars": [{"spare": {"inch": 3}}]}, "garage.json")
