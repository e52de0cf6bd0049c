"""Several algorithms together: their differences, their combinations, folds."""
