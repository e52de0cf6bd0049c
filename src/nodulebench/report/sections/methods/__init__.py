"""How it was done: matching, uncertainty, checklist, literature."""
