"""An append-only log of numbered, chained events: its store, its head, its checkpoints."""
