"""Keys as ssh-keygen makes them are read, ours are read by ssh-keygen, and others are refused."""

import shutil
import subprocess
from pathlib import Path

import pytest

from builders.hidden_packages import hide_package
from nodulebench.core.errors import InputError
from nodulebench.security.keys import (
    PublicKey,
    has_passphrase,
    is_person_key,
    new_person_key,
    parse_public_key,
    read_private_key,
    read_public_key,
)

pytest.importorskip("bcrypt")
# the public key of RFC 8032, section 7.1, test 1
RAW = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
needs_ssh_keygen = pytest.mark.skipif(
    shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed"
)


def ssh_keygen(*words: object) -> str:
    done = subprocess.run(
        ["ssh-keygen", *map(str, words)], capture_output=True, check=True, text=True
    )
    return done.stdout


def test_a_public_key_is_a_line_and_back() -> None:
    key = PublicKey(RAW)
    assert key.line.startswith("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI")
    assert parse_public_key(f"  {key.line} ada@lab, second key\n") == key


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a line 'ssh-ed25519 AAAA…'"),
        ("ssh-rsa AAAA x", "is not a line 'ssh-ed25519 AAAA…'"),
        (f"{PublicKey(RAW).line}\n{PublicKey(RAW).line}", "is not a line"),
        ("ssh-ed25519 A*AA", "its second word is not base64"),
        (PublicKey(RAW).line[:-8], "or was cut off"),
        ("ssh-ed25519 " + PublicKey(RAW).line.split()[1][:-4] + "AAAAAAAA", "or was cut off"),
    ],
)
def test_what_is_not_a_public_key_says_why(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^is no") as refused:
        parse_public_key(text)
    assert message in str(refused.value)


@needs_ssh_keygen
@pytest.mark.parametrize("passphrase", ["", "correct horse"])
def test_keys_of_ssh_keygen_are_read(tmp_path: Path, passphrase: str) -> None:
    path = tmp_path / "ada"
    ssh_keygen("-q", "-t", "ed25519", "-N", passphrase, "-C", "ada", "-f", path)
    assert is_person_key(path)
    assert has_passphrase(path) == bool(passphrase)
    key = read_private_key(path, passphrase)
    assert key.public == read_public_key(tmp_path / "ada.pub")
    assert key.public.fingerprint in ssh_keygen("-l", "-f", path.with_suffix(".pub"))
    assert key.public.is_signer_of(b"event", key.sign(b"event"))
    assert not key.public.is_signer_of(b"other", key.sign(b"event"))


@needs_ssh_keygen
@pytest.mark.parametrize("passphrase", ["", "correct horse"])
def test_keys_of_ours_are_read_by_ssh_keygen(tmp_path: Path, passphrase: str) -> None:
    public = new_person_key(tmp_path / "bo", passphrase, "Bo  of\nthe lab")
    output = ssh_keygen("-y", "-P", passphrase, "-f", tmp_path / "bo")
    assert parse_public_key(output) == public
    assert (tmp_path / "bo.pub").read_text() == f"{public.line} Bo of the lab\n"
    assert (tmp_path / "bo").stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="a key is never overwritten"):
        new_person_key(tmp_path / "bo")


def test_a_key_that_was_left_without_its_public_one_is_completed(tmp_path: Path) -> None:
    public = new_person_key(tmp_path / "bo", "secret", "Bo")
    message, private = (tmp_path / "bo.pub").read_bytes(), (tmp_path / "bo").read_bytes()
    (tmp_path / "bo.pub").unlink()
    with pytest.raises(InputError, match="a key is never overwritten"):
        new_person_key(tmp_path / "bo", "another", "Bo")
    assert new_person_key(tmp_path / "bo", "secret", "Bo") == public
    assert ((tmp_path / "bo.pub").read_bytes(), (tmp_path / "bo").read_bytes()) == (
        message,
        private,
    )


def test_a_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    new_person_key(tmp_path / "bo")
    (tmp_path / "bo").chmod(0o640)
    with pytest.raises(InputError, match=r"bo: can be read by other users\. Run first: chmod 600"):
        read_private_key(tmp_path / "bo")


def test_a_wrong_or_missing_passphrase_is_said(tmp_path: Path) -> None:
    new_person_key(tmp_path / "bo", "right")
    with pytest.raises(InputError, match="bo: does not open with this passphrase"):
        read_private_key(tmp_path / "bo", "wrong")
    with pytest.raises(InputError, match="bo: has a passphrase, but none was given"):
        read_private_key(tmp_path / "bo")


@needs_ssh_keygen
def test_other_kinds_of_keys_and_files_are_refused(tmp_path: Path) -> None:
    ssh_keygen("-q", "-t", "ecdsa", "-N", "", "-f", tmp_path / "ec")
    with pytest.raises(InputError, match="is not an Ed25519 key"):
        read_private_key(tmp_path / "ec")
    new_person_key(tmp_path / "bo")
    with pytest.raises(InputError, match="is a public key"):
        read_private_key(tmp_path / "bo.pub")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(InputError, match=r"is not an OpenSSH private key\. Make one with"):
        read_private_key(tmp_path / "text")
    with pytest.raises(InputError, match="cannot be read"):
        read_private_key(tmp_path / "nothing")
    damaged = (tmp_path / "bo").read_text().replace("b3BlbnNzaC1rZXktdjE", "b3BlbnNzaC1rZXktdjF")
    (tmp_path / "bo").write_text(damaged)
    with pytest.raises(
        InputError, match=r"bo: (is not a private key, or is damaged|has a passphrase)"
    ):
        read_private_key(tmp_path / "bo")


def test_a_private_key_never_shows_itself(tmp_path: Path) -> None:
    new_person_key(tmp_path / "bo")
    shown = repr(read_private_key(tmp_path / "bo"))
    assert shown.startswith("PrivateKey(public=PublicKey(")
    assert "ed25519=" not in shown


def test_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hide_package(monkeypatch, "bcrypt")
    with pytest.raises(InputError, match=r"needs bcrypt, .* pip install 'nodulebench\[keys\]'"):
        new_person_key(tmp_path / "bo")
