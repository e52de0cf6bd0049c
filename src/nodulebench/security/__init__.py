"""Personal keys, signatures, encrypted vaults and the tamper-evident event log."""
