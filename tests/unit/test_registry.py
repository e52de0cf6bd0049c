import sys

import pytest

from nodulebench.errors import UnknownNameError
from nodulebench.registry import Registry

SHAPES: Registry[object] = Registry("shape", "shapes", {"sqrt": "math", "circle": "math:pi"})


def test_things_are_found_by_their_name_in_listed_order() -> None:
    import math

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


def test_outside_packages_add_through_entry_points(monkeypatch) -> None:
    class Point:
        def load(self) -> object:
            return "a box"

    monkeypatch.setattr(
        "nodulebench.registry.entry_points",
        lambda group, name: [Point()] if (group, name) == ("nodulebench.shapes", "box") else [],
    )
    assert SHAPES["box"] == "a box"
