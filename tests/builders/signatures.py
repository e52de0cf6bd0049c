"""Signatures as the files of ssh-keygen."""

import textwrap

from nodulebench.security.signatures import PREFIX


def armored(code: str) -> str:
    """A signature as the file that ``ssh-keygen -Y verify -s FILE`` reads."""
    lines = textwrap.wrap(code.removeprefix(PREFIX), 70)
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""])
