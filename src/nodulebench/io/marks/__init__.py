"""Files of marks and references, one format a file."""
