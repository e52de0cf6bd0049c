"""The words of a report in Chinese."""
