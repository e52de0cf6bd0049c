"""Whether numbers hold: results computed again, scorers against known answers."""
