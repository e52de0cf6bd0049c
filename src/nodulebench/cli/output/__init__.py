"""What commands print of results: tables for a terminal."""
