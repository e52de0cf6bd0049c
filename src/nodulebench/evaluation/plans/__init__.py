"""Test plans: sample size and frozen plan before a test, verdict after it."""
