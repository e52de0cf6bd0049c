"""Files coming in from a PACS."""
