"""What readers drew in, a reference standard out; and what hangs on it."""
