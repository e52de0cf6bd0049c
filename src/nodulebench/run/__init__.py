"""Work done by other processes: a pool with deadlines, commands of others."""
