"""Pages for administrators."""
