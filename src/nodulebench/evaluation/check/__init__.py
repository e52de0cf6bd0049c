"""What may be wrong with a submission: its rows, its names, its scores, its places."""
