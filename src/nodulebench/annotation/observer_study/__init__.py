"""Observer studies: readers classify false positives, and some of these become nodules."""
