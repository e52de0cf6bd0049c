"""Before a test: its size, its frozen plan; after it: the verdict."""
