"""Results of ``benchmarks.fold_weights --keep`` -> FROC of the detectors on whole scans.

``python -m docs.draw.classifier_froc DIR`` redraws ``docs/pictures/candidates-froc.svg``.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from benchmarks.candidate_findings import FIVE
from benchmarks.candidate_froc import froc_of, scan_findings
from benchmarks.candidate_tables import combined

from nodulebench.core.results import Curve

PICTURE = Path(__file__).parents[1] / "pictures" / "candidates-froc.svg"
LEFT, TOP, WIDTH, HEIGHT = 56, 16, 520, 300
RATES = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16)
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
DASHES = ("none", "8 4", "2 3", "12 3 2 3", "5 2", "1 2", "10 2 2 2 2 2")
"""Lines differ in grey too."""
NAMES = {
    "+".join(FIVE): "all five",
    "mot_m5lv1": "MOT_M5Lv1",
    "etrocad": "ETROCAD",
    "isicad": "ISICAD",
    "m5l": "M5L",
    "subsolidcad": "SubsolidCAD",
    "largecad": "LargeCAD",
}


def across(rate: float) -> float:
    """Position of a rate on the logarithmic axis, in pixels."""
    first, last = np.log2(RATES[0]), np.log2(RATES[-1])
    return float(LEFT + WIDTH * (np.log2(max(rate, RATES[0])) - first) / (last - first))


def down(share: float) -> float:
    """Position of a sensitivity, in pixels."""
    return TOP + HEIGHT * (1 - share)


def steps(curve: Curve) -> str:
    """A curve as a path of steps within the axis."""
    shown = curve.x <= RATES[-1]
    points = [(across(RATES[0]), down(float(curve.y[curve.x <= RATES[0]].max(initial=0.0))))]
    for rate, share in zip(curve.x[shown], curve.y[shown], strict=True):
        if rate > RATES[0] and down(float(share)) < points[-1][1]:
            points += [(across(float(rate)), points[-1][1]), (across(float(rate)), down(share))]
    points.append((across(float(curve.x[shown].max())), points[-1][1]))
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def draw(curves: Mapping[str, Curve]) -> str:
    """All curves with their axes and names."""
    parts = []
    for rate in RATES:
        x = across(rate)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}v{HEIGHT}"/>')
        parts.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 16}" class="mid">{rate:g}</text>')
    for share in SHARES:
        y = down(share)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}h{WIDTH}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="end">{share:.1f}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        y = TOP + HEIGHT - 14 - 18 * (len(curves) - 1 - number)
        sample = f"M{LEFT + WIDTH - 140} {y - 4}h36"
        line = f'stroke="{COLOURS[number]}" stroke-dasharray="{DASHES[number]}"'
        for path in (steps(curve), sample):
            parts.append(f'<path d="{path}" fill="none" {line} stroke-width="2"/>')
        parts.append(f'<text x="{LEFT + WIDTH - 96}" y="{y}">{NAMES[name]}</text>')
    middle = LEFT + WIDTH / 2
    parts.append(
        f'<text x="{middle}" y="{TOP + HEIGHT + 36}" class="mid">false positives per scan</text>'
        f'<text transform="translate(14 {TOP + HEIGHT / 2}) rotate(-90)" class="mid">'
        "sensitivity</text>"
    )
    size = f"{LEFT + WIDTH + 16} {TOP + HEIGHT + 48}"
    style = (
        "text{font:12px system-ui,sans-serif}.mid{text-anchor:middle}.end{text-anchor:end}"
        ".grid{stroke:#ddd}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" role="img" '
        f'aria-label="FROC of the detectors"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    """Draw the FROC of every detector and of the five together."""
    findings = scan_findings(Path(sys.argv[1]))
    curves = {
        name: froc_of(findings.reference, combined(findings, tuple(name.split("+"))))
        for name in NAMES
    }
    PICTURE.write_text(draw(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
