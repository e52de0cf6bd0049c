"""The contract with an algorithm: its manifest, its input per case, and its output."""
