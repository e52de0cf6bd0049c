"""Random small scenes for tests of mark rules: boxes on a grid, so that ties and edges occur."""

from typing import Any

from hypothesis import strategies as st

from builders.tables import Case, Mark, Nodule, Slice, case, mark, nodule

_GRID = st.integers(0, 4)
_SIDES = st.sampled_from((4, 4, 6, 2))
_JITTER = st.sampled_from((0, 0, 0, 1, -1))
_SCORES = st.sampled_from((0.2, 0.5, 0.9))


@st.composite
def _slices(draw: st.DrawFn, x: int, y: int) -> tuple[Slice, ...]:
    first, count = draw(st.integers(0, 1)), draw(st.integers(1, 3))
    return tuple(
        Slice(
            first + step,
            x + draw(_JITTER),
            y + draw(_JITTER),
            draw(_SIDES),
            draw(_SIDES),
        )
        for step in range(count)
    )


@st.composite
def nodules(draw: st.DrawFn) -> Nodule:
    """A nodule or an ignored finding with boxes."""
    x, y = draw(_GRID), draw(_GRID)
    boxes = draw(_slices(x, y))
    made = nodule(draw(_SIDES), (x, y, boxes[0].index), *boxes)
    return Nodule(made.diameter, made.at, draw(st.integers(0, 4)) == 0, made.slices)


@st.composite
def marks(draw: st.DrawFn) -> Mark:
    """A mark with boxes, a score and a diameter."""
    x, y = draw(_GRID), draw(_GRID)
    boxes = draw(_slices(x, y))
    more: dict[str, Any] = {"diameter_mm": float(draw(st.integers(1, 8)))}
    return mark(draw(_SCORES), (x, y, boxes[0].index), *boxes, **more)


@st.composite
def scenes(draw: st.DrawFn, *, cases: int = 6) -> tuple[Case, ...]:
    """Cases with up to four nodules and five marks each; there is one of each at least."""
    first = case("first", draw(nodules()), draw(marks()))
    return first, *(
        case(
            f"case{number}",
            *draw(st.lists(nodules(), max_size=4)),
            *draw(st.lists(marks(), max_size=5)),
        )
        for number in range(cases)
    )
