"""A code is a signature by one key for one text, and ssh-keygen says the same of it."""

import base64
import shutil
import subprocess
from pathlib import Path

import pytest

from builders.signatures import armored
from nodulebench.security.keys import PrivateKey, new_person_key, read_private_key
from nodulebench.security.signatures import (
    NAMESPACE,
    PREFIX,
    is_code_of,
    signature_code,
)

pytest.importorskip("bcrypt")
needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"
)


@pytest.fixture
def ada(tmp_path: Path) -> PrivateKey:
    new_person_key(tmp_path / "ada")
    return read_private_key(tmp_path / "ada")


@pytest.fixture
def bo(tmp_path: Path) -> PrivateKey:
    new_person_key(tmp_path / "bo")
    return read_private_key(tmp_path / "bo")


def test_a_code_holds_for_its_text_and_key_only(ada: PrivateKey, bo: PrivateKey) -> None:
    code = signature_code(b"event", ada)
    assert is_code_of(code, b"event", ada.public)
    assert not is_code_of(code, b"other", ada.public)
    assert not is_code_of(code, b"event", bo.public)


def test_any_other_bit_is_refused(ada: PrivateKey) -> None:
    code = signature_code(b"event", ada)
    blob = base64.b64decode(code.removeprefix(PREFIX))
    for place in range(len(blob)):
        changed = bytearray(blob)
        changed[place] ^= 1 << place % 8
        assert not is_code_of(PREFIX + base64.b64encode(changed).decode(), b"event", ada.public)
    for wrong in ("", PREFIX, "hmac-sha256:00", code[:-4], code + "AAAA", code[len(PREFIX) :]):
        assert not is_code_of(wrong, b"event", ada.public)
    assert not is_code_of(PREFIX + "ä", b"event", ada.public)


@needs_ssh_keygen
def test_ssh_keygen_verifies_a_code(ada: PrivateKey, bo: PrivateKey, tmp_path: Path) -> None:
    (tmp_path / "signers").write_text(f"Ada {ada.public.line}\nBo {bo.public.line}\n")
    (tmp_path / "event.sig").write_text(armored(signature_code(b"event", ada)))

    def verifies(person: str, content: bytes) -> bool:
        words = ["-Y", "verify", "-f", tmp_path / "signers", "-I", person, "-n", NAMESPACE]
        done = subprocess.run(
            ["ssh-keygen", *words, "-s", tmp_path / "event.sig"], input=content, check=False
        )
        return done.returncode == 0

    assert verifies("Ada", b"event")
    assert not verifies("Bo", b"event")
    assert not verifies("Ada", b"other")


@needs_ssh_keygen
def test_a_signature_of_ssh_keygen_is_a_code(ada: PrivateKey, tmp_path: Path) -> None:
    (tmp_path / "event").write_bytes(b"event")
    sign = ["ssh-keygen", "-q", "-Y", "sign", "-f", tmp_path / "ada", "-n"]
    subprocess.run([*sign, NAMESPACE, tmp_path / "event"], check=True, capture_output=True)
    lines = (tmp_path / "event.sig").read_text().splitlines()
    assert is_code_of(PREFIX + "".join(lines[1:-1]), b"event", ada.public)
    (tmp_path / "event.sig").unlink()
    subprocess.run([*sign, "git", tmp_path / "event"], check=True, capture_output=True)
    lines = (tmp_path / "event.sig").read_text().splitlines()
    assert not is_code_of(PREFIX + "".join(lines[1:-1]), b"event", ada.public)
