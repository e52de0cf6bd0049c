"""Keys of people: OpenSSH Ed25519 keys that sign as ssh-keygen does and open what age wraps."""
