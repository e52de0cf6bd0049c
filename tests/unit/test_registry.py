import pytest

from nodulebench.errors import UnknownNameError
from nodulebench.registry import Registry


def sphere() -> None: ...


def cube() -> None: ...


SHAPES = Registry("shape", "shapes", (sphere, cube))


def test_things_are_found_by_their_name_in_listed_order() -> None:
    assert list(SHAPES) == ["sphere", "cube"]
    assert SHAPES["cube"] is cube
    assert len(SHAPES) == 2
    assert "sphere" in SHAPES


def test_an_unknown_name_suggests_near_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        SHAPES["spere"]
    assert str(caught.value) == (
        "there is no shape 'spere'. Did you mean 'sphere'? Known: sphere, cube."
    )


def test_two_things_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two shapes are named 'cube'"):
        Registry("shape", "shapes", (cube, cube))


def test_outside_packages_add_through_entry_points(monkeypatch) -> None:
    class Point:
        def load(self) -> object:
            return cube

    monkeypatch.setattr(
        "nodulebench.registry.entry_points",
        lambda group, name: [Point()] if (group, name) == ("nodulebench.shapes", "box") else [],
    )
    assert SHAPES["box"] is cube
