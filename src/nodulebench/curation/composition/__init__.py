"""What a test set consists of: designs, coverage, random draw."""
