"""Annotation projects on the site: logs in the database, accounts as people, reading sessions."""
