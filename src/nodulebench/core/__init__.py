"""The vocabulary: tables, protocols, labels, cohorts and results; no file formats."""
