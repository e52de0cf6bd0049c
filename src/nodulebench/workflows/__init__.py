"""Jobs that join stages, one page each."""
