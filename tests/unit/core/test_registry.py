import math
import sys
from importlib.metadata import EntryPoint

import pytest

from nodulebench.core.errors import UnknownNameError
from nodulebench.core.registry import Registry

SHAPES: Registry[object] = Registry("shape", "shapes", {"sqrt": "math", "circle": "math:pi"})


def test_things_are_found_by_their_name_in_listed_order() -> None:
    assert list(SHAPES) == ["sqrt", "circle"]
    assert SHAPES["sqrt"] is math.sqrt
    assert SHAPES["circle"] == math.pi
    assert len(SHAPES) == 2
    assert "circle" in SHAPES


def test_a_thing_is_loaded_only_when_it_is_asked_for() -> None:
    registry: Registry[object] = Registry("poem", "poems", {"zen": "colorsys:rgb_to_hsv"})
    sys.modules.pop("colorsys", None)
    assert "zen" in registry
    assert "colorsys" not in sys.modules
    assert callable(registry["zen"])
    assert "colorsys" in sys.modules


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        SHAPES["cirle"]
    assert str(caught.value) == (
        "there is no shape 'cirle'. Did you mean 'circle'? Known: sqrt, circle."
    )


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Registry[object]:
    """Shapes, and three that another package adds: a new one, a broken one, one named alike."""
    points = [
        EntryPoint("sphere", "math:tau", "nodulebench.shapes"),
        EntryPoint("cone", "no_such_module:cone", "nodulebench.shapes"),
        EntryPoint("circle", "math:e", "nodulebench.shapes"),
    ]
    monkeypatch.setattr(
        "importlib.metadata.entry_points",
        lambda group: points if group == "nodulebench.shapes" else [],
    )
    return Registry("shape", "shapes", {"sqrt": "math", "circle": "math:pi"})


def test_what_outside_packages_add_is_found_and_listed_after_the_rest(outside) -> None:
    assert outside["sphere"] == math.tau
    assert "sphere" in outside
    assert "box" not in outside
    assert list(outside) == ["sqrt", "circle", "cone", "sphere"]
    assert len(outside) == 4


def test_the_packages_of_outside_things_are_reported(outside) -> None:
    assert outside.outside_versions == ["cone", "sphere"]  # of no package that is installed


def test_outside_packages_cannot_replace_what_is_there(outside) -> None:
    assert outside["circle"] == math.pi
    assert list(outside).count("circle") == 1


def test_outside_names_are_proposed_and_known(outside) -> None:
    with pytest.raises(UnknownNameError) as caught:
        outside["spere"]
    assert str(caught.value) == (
        "there is no shape 'spere'. Did you mean 'sphere'? Known: sqrt, circle, cone, sphere."
    )


def test_an_outside_thing_that_cannot_be_loaded_names_its_place(outside) -> None:
    with pytest.raises(UnknownNameError, match=r"'cone' .* cannot be loaded from no_such_module"):
        outside["cone"]


def test_other_packages_are_not_asked_while_built_in_names_suffice(monkeypatch) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", None)
    registry: Registry[object] = Registry("shape", "shapes", {"sqrt": "math", "pi": "math"})
    assert registry["pi"] == math.pi
    assert "sqrt" in registry
    assert next(iter(registry.values())) is math.sqrt
