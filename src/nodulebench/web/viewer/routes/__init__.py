"""HTTP routes of the viewer, one module per topic."""
