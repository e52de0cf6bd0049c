"""Sandboxes for untrusted programs, with limits and a self-test."""
