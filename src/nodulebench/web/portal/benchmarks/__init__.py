"""Benchmarks: their rules, rule files (candidates, folds, criteria), and released files."""
