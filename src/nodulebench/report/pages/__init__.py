"""Templates, colours and frame of every page: report, curation, and whatever is shown to people."""
