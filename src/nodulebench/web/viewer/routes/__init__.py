"""What a browser can ask the reading room for, by what it is about."""
