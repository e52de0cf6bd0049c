"""Trained weights: whose they are, which of them read a scan, what they had learnt from."""
