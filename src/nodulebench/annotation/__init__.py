"""People and their readings -> findings that went through every step, with who, when and what."""
