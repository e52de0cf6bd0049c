"""What evaluation.json and comparison.json hold: records, read from JSON and written."""
