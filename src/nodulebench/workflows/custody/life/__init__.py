"""How a sealed set stands and what becomes of it: people, keys, changed files, retirement."""
