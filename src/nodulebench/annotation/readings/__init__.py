"""The readings of single readers: consistency, warnings and agreement."""
