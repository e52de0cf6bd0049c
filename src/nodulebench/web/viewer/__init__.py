"""The reading room: CT scans in a browser, what a reader draws in them, kept as it is drawn."""
