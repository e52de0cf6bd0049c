"""The database of a site: tables, migrations, and the hash-chained event log."""
