"""Image volumes in files, and the image that belongs to a case."""
