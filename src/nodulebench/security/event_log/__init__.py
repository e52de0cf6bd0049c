"""A log of numbered events in a chain that shows every change: its store, its head, its anchors."""
