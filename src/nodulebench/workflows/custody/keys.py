"""Keys and secrets: those that sign a folder, and those that open a vault."""

from nodulebench.storage.signature import is_encrypted, new_key, sign_folder
from nodulebench.storage.vault import Secret, new_key_file, passphrase_secret, read_key_file

__all__ = [
    "Secret",
    "is_encrypted",
    "new_key",
    "new_key_file",
    "passphrase_secret",
    "read_key_file",
    "sign_folder",
]
