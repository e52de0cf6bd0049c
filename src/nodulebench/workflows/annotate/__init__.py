"""Readers at work: exams, readings brought together, review, observer studies."""
