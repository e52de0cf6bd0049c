"""Pictures as SVG: axes, styles, charts."""
