"""Rooms of an annotation project: a person's cases as tasks, what is asked there, what they say."""
