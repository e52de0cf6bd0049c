"""What an organiser lays down for a benchmark: candidates, folds, criteria, files to download."""
