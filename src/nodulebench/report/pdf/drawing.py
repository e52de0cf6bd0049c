"""Our own SVG -> a vector drawing of reportlab; only what our pictures use is known.

Known are nested views, groups that are moved, paths of straight lines and Bézier curves, boxes and
texts; how they look is told by their classes, as in the page's style sheet.
"""

import re
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from nodulebench.optional_package import needs
from nodulebench.pages.colours import palette
from nodulebench.report.pdf.fonts import PURPOSE, Fonts

PRINT = palette("print")
COLOURS = [PRINT[f"c{number}"] for number in range(1, 8)]
INK, MUTED, LINE, PAPER = PRINT["ink"], PRINT["muted"], PRINT["line"], PRINT["paper"]
ACCENT, SHARE, LESS, TRACK = PRINT["accent"], PRINT["share"], PRINT["less"], PRINT["soft"]
LARGEST_LABEL = 9.0
"""Points: labels of a picture are never larger than a table's caption."""
COMMAND = re.compile(r"([MmLlHhVvCcZz])|(-?(?:\d+\.?\d*|\.\d+))")


@dataclass(frozen=True, slots=True)
class Look:
    """How a shape is drawn; colours as #rrggbb, None for none."""

    fill: str | None = None
    stroke: str | None = None
    width: float = 1.0
    opacity: float = 1.0
    dash: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where a point of the picture lies on the drawing: scaled, moved, and turned upright."""

    scale_x: float
    scale_y: float
    x: float
    y: float

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A point on the drawing; y grows upwards there."""
        return self.x + self.scale_x * x, self.y - self.scale_y * y

    def moved(self, x: float, y: float) -> "Place":
        """The place of a group that is moved."""
        left, top = self.at(x, y)
        return Place(self.scale_x, self.scale_y, left, top)


def drawing_of(picture: str, fonts: Fonts, width: float, *, font_size: float = 13.0) -> Any:
    """A picture as a drawing of that width in points, or less where its labels would be large.

    Args:
        picture: the SVG.
        fonts: for its texts.
        width: how wide it shall be.
        font_size: the size of its labels, in the picture's own units.
    """
    with needs("pdf", PURPOSE):
        from reportlab.graphics import shapes
    root = ElementTree.fromstring(picture)  # noqa: S314 - our own
    _, _, own_width, own_height = _numbers(root.attrib["viewBox"])
    scale = min(width / own_width, LARGEST_LABEL / font_size)
    drawing = shapes.Drawing(own_width * scale, own_height * scale)
    _Painter(shapes, drawing, fonts, scale, font_size).paint(
        root, Place(scale, scale, 0.0, own_height * scale), ()
    )
    return drawing


@dataclass(frozen=True, slots=True)
class _Painter:
    shapes: Any
    drawing: Any
    fonts: Fonts
    scale: float
    font_size: float

    def paint(self, element: ElementTree.Element, place: Place, classes: tuple[str, ...]) -> None:
        """Draw an element and what is in it; ``classes`` are those around it."""
        classes = (*classes, *element.get("class", "").split())
        match element.tag:
            case "g":
                found = re.match(
                    r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", element.get("transform", "")
                )
                inner = place.moved(float(found[1]), float(found[2])) if found else place
            case "svg" if "x" in element.attrib:
                inner = _inside(element, place)
            case _:
                inner = place
        match element.tag:
            case "path":
                self._path(element, inner, classes)
            case "rect":
                self._box(element, inner, classes)
            case "text":
                self._text(element, inner, classes)
        for child in element:
            self.paint(child, inner, classes)

    def _path(self, element: ElementTree.Element, place: Place, classes: tuple[str, ...]) -> None:
        path = self.shapes.Path()
        for command, *numbers in absolute_steps(element.get("d", "")):
            points = [
                coordinate
                for pair in zip(numbers[::2], numbers[1::2], strict=True)
                for coordinate in place.at(*pair)
            ]
            getattr(
                path, {"M": "moveTo", "L": "lineTo", "C": "curveTo", "Z": "closePath"}[command]
            )(*points)
        if path.points:
            own = element.get("stroke-dasharray", "")
            self._add(path, look_of(classes, element, tuple(_numbers(own)) if own else ()))

    def _box(self, element: ElementTree.Element, place: Place, classes: tuple[str, ...]) -> None:
        x, y, width, height = (
            float(element.get(name, 0)) for name in ("x", "y", "width", "height")
        )
        left, bottom = place.at(x, y + height)
        box = self.shapes.Rect(left, bottom, place.scale_x * width, place.scale_y * height)
        self._add(box, look_of(classes, element))

    def _add(self, shape: Any, look: Look) -> None:
        with needs("pdf", PURPOSE):
            from reportlab.lib import colors
        shape.fillColor = None if look.fill is None else colors.HexColor(look.fill)
        shape.strokeColor = None if look.stroke is None else colors.HexColor(look.stroke)
        shape.fillOpacity = look.opacity
        shape.strokeWidth = look.width * max(self.scale, 0.5)
        shape.strokeDashArray = [part * self.scale for part in look.dash] or None
        self.drawing.add(shape)

    def _text(self, element: ElementTree.Element, place: Place, classes: tuple[str, ...]) -> None:
        with needs("pdf", PURPOSE):
            from reportlab.lib import colors
        size = self.font_size * self.scale * (12 / 13 if "value" in classes else 1.0)
        x, y = place.at(float(element.get("x", 0)), float(element.get("y", 0)))
        text = element.text or ""
        width = self.fonts.width(text, size)
        if "last" in classes or "y" in classes:
            x -= width
        elif "first" not in classes:
            x -= width / 2
        is_dark = {"axis", "name", "value", "point"} & set(classes)
        colour = INK if is_dark else MUTED
        for font, piece in self.fonts.runs(text):
            drawn = self.shapes.String(x, y, piece, fontName=font, fontSize=size)
            drawn.fillColor = colors.HexColor(colour)
            self.drawing.add(drawn)
            x += drawn.getEast() - drawn.x


def _inside(element: ElementTree.Element, place: Place) -> Place:
    """The place of a nested view."""
    x, y, width, height = (float(element.attrib[name]) for name in ("x", "y", "width", "height"))
    _, _, own_width, own_height = _numbers(element.attrib["viewBox"])
    left, top = place.at(x, y)
    return Place(place.scale_x * width / own_width, place.scale_y * height / own_height, left, top)


def look_of(
    classes: tuple[str, ...], element: ElementTree.Element, dash: tuple[float, ...] = ()
) -> Look:
    """How a shape of these classes is drawn; the innermost class that is known counts."""
    colour = next(
        (COLOURS[int(one[1]) - 1] for one in reversed(classes) if re.fullmatch(r"c[1-7]", one)), INK
    )
    looks = {
        "curve": Look(None, colour, 2, dash=dash),
        "expected": Look(None, colour, 2, dash=(6, 4)),
        "beyond": Look(None, colour, 1.5, dash=(1, 4)),
        "band": Look(colour, None, opacity=0.14),
        "point": Look(colour, PAPER, 1.0),
        "fill": Look(colour, colour, 1.2, opacity=0.13),
        "solid": Look(colour, colour, 1.2, opacity=0.55),
        "hatch": Look(None, colour, 1.1),
        "stem": Look(None, colour, 1.5),
        "whisker": Look(None, INK, 1.2),
        "bracket": Look(None, INK, 1.2),
        "median": Look(None, INK, 2.4),
        "base": Look(None, MUTED, 1.2),
        "limit": Look(None, INK, 1.0, dash=(4, 3)),
        "ticks": Look(None, LINE, 1.0),
        "frame": Look(None, MUTED, 1.0),
        "box": Look(TRACK, MUTED, 1.0),
        "outline": Look(colour, colour, 1.6, opacity=0.13),
        "boxed": Look(None, colour, 1.4, dash=(6, 3) if "c2" in classes else ()),
        "heat": Look(ACCENT, LINE, 1.0, opacity=float(element.get("fill-opacity", 1))),
        "track": Look(TRACK, None),
        "share": Look(SHARE, None),
        "less": Look(LESS, None),
        "bar": Look(None, INK, 0.8),
    }
    return next((looks[one] for one in reversed(classes) if one in looks), Look(None, INK))


def absolute_steps(path: str) -> list[list[Any]]:
    """A path as steps M, L, C and Z with absolute coordinates."""
    tokens = [command or float(number) for command, number in COMMAND.findall(path)]
    steps: list[list[Any]] = []
    x = y = start_x = start_y = 0.0
    command, place = "", 0
    while place < len(tokens):
        if isinstance(tokens[place], str):
            command, place = str(tokens[place]), place + 1
        count = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Z": 0}[command.upper()]
        given = [float(one) for one in tokens[place : place + count]]
        place += count
        left, top = (x, y) if command.islower() else (0.0, 0.0)
        match command.upper():
            case "Z":
                steps.append(["Z"])
                x, y = start_x, start_y
                continue
            case "H":
                points = [left + given[0], y]
            case "V":
                points = [x, top + given[0]]
            case _:
                points = [
                    value + (top if number % 2 else left) for number, value in enumerate(given)
                ]
        kind = {"M": "M", "C": "C"}.get(command.upper(), "L")
        steps.append([kind, *points])
        x, y = points[-2:]
        if kind == "M":
            start_x, start_y = x, y
            command = "l" if command == "m" else "L"
    return steps


def _numbers(text: str) -> list[float]:
    return [float(one) for one in re.split(r"[ ,]+", text.strip())]
