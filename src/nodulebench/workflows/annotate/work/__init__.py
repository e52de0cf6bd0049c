"""A person's part in an annotation project: their cases, what they may see, what they hand in."""
