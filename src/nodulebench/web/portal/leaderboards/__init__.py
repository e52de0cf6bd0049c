"""Leaderboards, rankings, entry pages, histories, certificates, and the use of test sets."""
