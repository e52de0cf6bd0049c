"""Charts as SVG: axes, styles, bars, lines, diagrams."""
