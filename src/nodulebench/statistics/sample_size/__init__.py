"""The aim of a test -> the nodules, cases or readers that it needs."""
