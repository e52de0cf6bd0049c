"""FINDINGS -> NODULES: which findings are the same nodule, how large it is, and what counts."""
