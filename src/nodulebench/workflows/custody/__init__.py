"""A test set kept: bundled, sealed, evaluated, audited, opened."""
