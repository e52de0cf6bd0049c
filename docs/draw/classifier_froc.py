"""Findings kept by ``benchmarks.candidate_blocks --keep`` -> FROC of the classifiers.

``python -m docs.draw.classifier_froc KEPT`` redraws ``docs/pictures/candidates-froc.svg``.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from benchmarks.candidate_froc import classified, froc_of

from nodulebench.model.results import Curve

PICTURE = Path(__file__).parents[1] / "pictures" / "candidates-froc.svg"
LEFT, TOP, WIDTH, HEIGHT = 56, 16, 520, 300
RATES = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16)
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
COLOURS = ("#0072b2", "#d55e00", "#009e73")
DASHES = ("none", "8 4", "2 3")
"""Lines differ in grey too."""
NAMES = {"etrocad": "ETROCAD, RBF machine", "m5l": "M5L, 13-25-1", "mot_m5lv1": "MOT, 15-31-1"}


def across(rate: float) -> float:
    """Where a rate lies on the logarithmic axis, in pixels."""
    first, last = np.log2(RATES[0]), np.log2(RATES[-1])
    return float(LEFT + WIDTH * (np.log2(max(rate, RATES[0])) - first) / (last - first))


def down(share: float) -> float:
    """Where a sensitivity lies, in pixels."""
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
        y = TOP + HEIGHT - 14 - 18 * number
        sample = f"M{LEFT + WIDTH - 190} {y - 4}h36"
        line = f'stroke="{COLOURS[number]}" stroke-dasharray="{DASHES[number]}"'
        for path in (steps(curve), sample):
            parts.append(f'<path d="{path}" fill="none" {line} stroke-width="2"/>')
        parts.append(f'<text x="{LEFT + WIDTH - 146}" y="{y}">{NAMES[name]}</text>')
    middle = LEFT + WIDTH / 2
    parts.append(
        f'<text x="{middle}" y="{TOP + HEIGHT + 36}" class="mid">false positives per block</text>'
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
        f'aria-label="FROC of three classifiers"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    """Draw the FROC of every classifier."""
    findings = classified(Path(sys.argv[1]))
    curves = {
        name: froc_of(findings.reference, submission)
        for name, submission in findings.submissions.items()
    }
    PICTURE.write_text(draw(curves), encoding="utf-8")


if __name__ == "__main__":
    main()
