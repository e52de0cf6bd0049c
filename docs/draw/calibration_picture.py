"""Draw whether the probabilities of the false-positive reduction stage are calibrated.

``python -m docs.draw.calibration_picture DIR`` redraws the picture.
DIR is the folder of ``benchmarks.fold_weights --keep``.
"""

import sys
from pathlib import Path

import numpy as np
from benchmarks.classifier_folds import reliability, scored_candidates
from benchmarks.fold_weights import training_proposals

from nodulebench.core.arrays import FloatArray
from nodulebench.detection.candidates import NAMES

PICTURE = Path(__file__).parents[1] / "pictures" / "candidates-calibration.svg"
LEFT, TOP, SIDE, GAP, BARS = 64, 16, 300, 34, 110
TICKS = (0.001, 0.01, 0.1, 0.5, 0.9, 0.99)
COUNTS = (1, 10, 100, 1000, 10000)


def along(probability: float) -> float:
    """Position of a probability on an axis of log odds, from 0 to 1."""
    low, high = (np.log(edge / (1 - edge)) for edge in (0.0003, 0.997))
    inside = np.clip(probability, 0.0003, 0.997)
    return float((np.log(inside / (1 - inside)) - low) / (high - low))


def draw(bins: FloatArray) -> str:
    """Stated against observed, and below how many candidates there are on nodules and off."""
    parts, foot = [], TOP + SIDE
    for tick in TICKS:
        x, y = LEFT + SIDE * along(tick), TOP + SIDE * (1 - along(tick))
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}v{SIDE}M{LEFT} {y:.1f}h{SIDE}"/>')
        parts.append(f'<text x="{x:.1f}" y="{foot + 16}" class="mid">{tick:g}</text>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="end">{tick:g}</text>')
    parts.append(f'<path d="M{LEFT} {foot}L{LEFT + SIDE} {TOP}" stroke="#999" fill="none"/>')
    base = foot + GAP + BARS
    for count in COUNTS:
        y = base - BARS * np.log10(count) / np.log10(COUNTS[-1])
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}h{SIDE}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" class="end">{count:,}</text>')
    for stated, observed, _, on, off in bins:
        x, y = LEFT + SIDE * along(stated), TOP + SIDE * (1 - along(observed))
        title = f"<title>stated {stated:.3f}, observed {observed:.3f}</title>"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="#0072b2">{title}</circle>')
        for number, colour, shift in ((on, "#d55e00", -6), (off, "#777", 0)):
            height = BARS * np.log10(max(number, 1)) / np.log10(COUNTS[-1])
            bar = f'x="{x + shift:.1f}" y="{base - height:.1f}" width="5" height="{height:.1f}"'
            parts.append(f'<rect {bar} fill="{colour}"/>')
    middle, across = LEFT + SIDE / 2, TOP + SIDE / 2
    parts.append(
        f'<text transform="translate(14 {across}) rotate(-90)" class="mid">'
        "share of nodules observed</text>"
        f'<text x="{middle}" y="{base + 18}" class="mid">stated probability</text>'
        f'<text transform="translate(14 {base - BARS / 2}) rotate(-90)" class="mid">candidates'
        f'</text><rect x="{LEFT + 8}" y="{TOP + 10}" width="10" height="10" fill="#d55e00"/>'
        f'<text x="{LEFT + 24}" y="{TOP + 19}">on nodules</text>'
        f'<rect x="{LEFT + 8}" y="{TOP + 28}" width="10" height="10" fill="#777"/>'
        f'<text x="{LEFT + 24}" y="{TOP + 37}">off nodules, of whole scans</text>'
    )
    style = (
        "text{font:12px system-ui,sans-serif}.mid{text-anchor:middle}.end{text-anchor:end}"
        ".grid{stroke:#ddd}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + SIDE + 20} {base + 28}" '
        f'role="img" aria-label="Stated and observed probabilities"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def main() -> None:
    """Draw the probabilities of all candidates."""
    scored = scored_candidates(training_proposals(Path(sys.argv[1])), NAMES)
    PICTURE.write_text(draw(reliability(scored)), encoding="utf-8")


if __name__ == "__main__":
    main()
