"""Exams on the site: keys that nobody sees, rooms in which they are sat, and who passed."""
