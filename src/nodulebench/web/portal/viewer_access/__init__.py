"""Rooms of the workbench behind the site's door: who comes in, and drafts as rows."""
