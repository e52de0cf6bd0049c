"""The annotation workflow: its steps, its states, and who may take which step when."""
