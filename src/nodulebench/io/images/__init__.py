"""Read and write image volumes, and find the image of a case."""
