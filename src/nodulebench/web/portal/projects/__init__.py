"""Annotation projects on the site: their log in its database, accounts as people, their rooms."""
