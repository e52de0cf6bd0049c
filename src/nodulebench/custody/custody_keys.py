"""Keys and secrets: those that sign a folder, and those that open a vault."""

from nodulebench.security.keys import (
    is_person_key,
    new_person_key,
    read_private_key,
    read_public_key,
)
from nodulebench.security.signatures import is_encrypted, new_key, sign_folder, signing_key
from nodulebench.security.vault import (
    Secret,
    new_key_file,
    passphrase_secret,
    person_secret,
    read_key_file,
)

__all__ = [
    "Secret",
    "is_encrypted",
    "is_person_key",
    "new_key",
    "new_key_file",
    "new_person_key",
    "passphrase_secret",
    "person_secret",
    "read_key_file",
    "read_private_key",
    "read_public_key",
    "sign_folder",
    "signing_key",
]
