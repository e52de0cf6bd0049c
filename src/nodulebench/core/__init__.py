"""The vocabulary: tables, protocol, labels, cohort and results. No files, no statistics."""
