"""The disk: whole files, locks, digests, signatures, vaults, tables; no outside format."""
