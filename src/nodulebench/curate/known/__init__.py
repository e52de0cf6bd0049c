"""What was seen before: duplicates, near duplicates, known public sets."""
