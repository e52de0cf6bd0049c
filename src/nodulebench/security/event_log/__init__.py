"""Append-only, tamper-evident log of numbered, chained events: store, head, checkpoints."""
