"""The number of a series -> its style, which differs from others with and without colour."""

from dataclasses import dataclass
from math import ceil

from markupsafe import Markup

from nodulebench.report.pages.svg import drawing

SHAPES = (
    "M-4 0C-4 2.2-2.2 4 0 4C2.2 4 4 2.2 4 0C4-2.2 2.2-4 0-4C-2.2-4-4-2.2-4 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.8L4.6 3.4H-4.6z",
    "M0-5L5 0L0 5L-5 0z",
    "M0 4.8L4.6-3.4H-4.6z",
)
"""Marker shapes: circle, square, triangle, diamond, triangle pointing down."""
DASHES = ("", "9 4", "12 4 2 4", "4 3", "14 4 2 3 2 4", "20 5", "8 3 3 3")
COLOURS = 7
HATCHES = (None, (1, -1), (1, 1), (1, 0), (0, 1))
"""Directions of hatching, across and down: solid, rising, falling, level, upright."""
HATCH_GAP = 5
KEY = (40, 12)
"""Width and height of a sample in a legend."""


@dataclass(frozen=True, slots=True)
class Style:
    """The style of a series: colour, dashes and marker differ together."""

    number: int

    @property
    def colour(self) -> int:
        return self.number % COLOURS + 1

    @property
    def dash(self) -> str:
        """Its dash pattern; with 7 colours and 7 shifted patterns 49 series differ."""
        return DASHES[(self.number + self.number // COLOURS) % len(DASHES)]

    @property
    def shape(self) -> str:
        return SHAPES[self.number % len(SHAPES)]

    @property
    def sample(self) -> Markup:
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        line = f'<path class="curve c{self.colour}"{dash} d="M1 6H39"/>'
        return drawing("key", *KEY, [line, self.marker(20, 6)])

    def marker(self, x: float, y: float) -> str:
        return (
            f'<g class="point c{self.colour}" transform="translate({x:.1f} {y:.1f})">'
            f'<path d="{self.shape}"/></g>'
        )


@dataclass(frozen=True, slots=True)
class Dot(Style):
    """The same style for single values: a marker without a line."""

    @property
    def sample(self) -> Markup:
        return drawing("key", *KEY, [self.marker(20, 6)])


@dataclass(frozen=True, slots=True)
class Fill:
    """The style of bars of one kind: colour and hatching differ together."""

    number: int

    @property
    def colour(self) -> int:
        return self.number % COLOURS + 1

    @property
    def sample(self) -> Markup:
        return drawing("key", *KEY, [self.drawn(5, 1, 30, 10)])

    def drawn(
        self, left: float, top: float, width: float, height: float, *, may_be_solid: bool = True
    ) -> str:
        slope = HATCHES[self.number % len(HATCHES)]
        solid = " solid" if slope is None and may_be_solid else ""
        return (
            f'<rect class="fill{solid} c{self.colour}" x="{left:.1f}" y="{top:.1f}"'
            f' width="{max(width, 0):.1f}" height="{max(height, 0):.1f}"/>'
            f"{_hatching(slope, self.colour, (left, top, width, height))}"
        )


def _hatching(
    slope: tuple[int, int] | None, colour: int, box: tuple[float, float, float, float]
) -> str:
    """Parallel lines inside a box, cut at its edges; none without a slope."""
    if slope is None:
        return ""
    left, top, width, height = box
    right, bottom = left + width, top + height
    across, down = slope
    parts = []
    if not across:
        parts = [f"M{x:.1f} {top:.1f}V{bottom:.1f}" for x in _every(left, right)]
    elif not down:
        parts = [f"M{left:.1f} {y:.1f}H{right:.1f}" for y in _every(top, bottom)]
    else:
        for start in _every(top - width, bottom) if down > 0 else _every(top, bottom + width):
            # the line passes (left, start) and falls or rises by one per step to the right
            ends = sorted(left + (y - start) * down for y in (top, bottom))
            first, last = max(left, ends[0]), min(right, ends[1])
            if last > first:
                y = start + down * (first - left)
                parts.append(f"M{first:.1f} {y:.1f}L{last:.1f} {y + down * (last - first):.1f}")
    return f'<path class="hatch c{colour}" d="{"".join(parts)}"/>' if parts else ""


def _every(low: float, high: float) -> list[float]:
    """Places of hatching lines between two edges, tied to the page so that bars match."""
    first = ceil((low + 1e-6) / HATCH_GAP)
    return [number * HATCH_GAP for number in range(first, ceil((high - 1e-6) / HATCH_GAP))]
