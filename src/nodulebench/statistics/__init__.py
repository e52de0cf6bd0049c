"""Figure of merit x case weights -> Estimate."""
