"""What the site remembers: tables, their migrations, and the hash-chained log, in one database."""
