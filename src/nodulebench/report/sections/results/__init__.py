"""What was found: figures, curves, strata, errors, pictures of them."""
