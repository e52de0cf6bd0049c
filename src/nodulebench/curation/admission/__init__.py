"""One series examined: its slices, its image, the checks that admit or exclude it."""
