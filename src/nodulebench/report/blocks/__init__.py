"""What sections are made of: tables, charts, cells, paragraphs."""
