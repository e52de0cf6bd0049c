"""Exams for readers: secret keys, exam sessions, and results."""
