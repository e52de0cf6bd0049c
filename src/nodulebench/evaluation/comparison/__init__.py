"""Several algorithms beside each other: differences, combinations, folds."""
