"""What is sealed opens only with the same secret, as the same thing, and unchanged."""

import hashlib
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodulebench.core.errors import InputError
from nodulebench.security import vault as vault_module
from nodulebench.security.vault import (
    Secret,
    Vault,
    create_vault,
    new_key_file,
    open_vault,
    passphrase_secret,
    read_key_file,
)

pytest.importorskip("cryptography")
VAULT = Vault(bytes(32))
SECRET = Secret("key file", bytes(range(32)))


@pytest.fixture(autouse=True)
def small_segments_and_cheap_guesses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_module, "SEGMENT_BYTES", 64)
    monkeypatch.setattr(vault_module, "SCRYPT_COST", 16)


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 128, 1000])
def test_sealed_bytes_open_to_what_they_were(length: int) -> None:
    plain = bytes(number % 251 for number in range(length))
    sealed = VAULT.seal(plain, "a")
    assert VAULT.open(sealed, "a", "file") == plain
    assert length < 16 or plain[:16] not in sealed


def test_a_file_is_sealed_as_its_bytes_are(tmp_path: Path) -> None:
    plain = b"nodules" * 100
    (tmp_path / "plain").write_bytes(plain)
    target = io.BytesIO()
    digest = VAULT.seal_file(tmp_path / "plain", target, "a")
    assert VAULT.open(target.getvalue(), "a", "file") == plain
    assert digest == "sha256:" + hashlib.sha256(plain).hexdigest()


def test_any_flipped_bit_is_refused() -> None:
    sealed = VAULT.seal(b"x" * 150, "a")
    for place in range(len(sealed)):
        changed = bytearray(sealed)
        changed[place] ^= 1 << place % 8
        with pytest.raises(InputError, match=r"^file: (was changed|is not a sealed file)"):
            VAULT.open(bytes(changed), "a", "file")


@given(st.integers(0, 5000))
def test_a_cut_off_file_is_refused(length: int) -> None:
    sealed = VAULT.seal(b"x" * 1000, "a")
    with pytest.raises(InputError):
        VAULT.open(sealed[: length % len(sealed)], "a", "file")


def test_segments_cannot_be_dropped_moved_or_repeated() -> None:
    sealed = VAULT.seal(bytes(64) + bytes([1]) * 64 + bytes([2]) * 64, "a")
    start, step = len(sealed) - 3 * 80, 80
    head = sealed[:start]
    first, second, third = (sealed[start + step * n : start + step * (n + 1)] for n in range(3))
    assert VAULT.open(head + first + second + third, "a", "f")
    for parts in (
        (first, second),
        (first, third),
        (second, first, third),
        (first, second, second, third),
        (first, second, third, third),
    ):
        with pytest.raises(InputError, match="was changed"):
            VAULT.open(head + b"".join(parts), "a", "f")


def test_a_sealed_file_cannot_take_the_place_of_another() -> None:
    with pytest.raises(InputError, match="was changed after it was sealed"):
        VAULT.open(VAULT.seal(b"nodules of a", "a"), "b", "file")


def test_sealing_twice_gives_different_bytes() -> None:
    assert VAULT.seal(b"same", "a") != VAULT.seal(b"same", "a")


def test_keys_are_derived_as_rfc_5869_says() -> None:
    # RFC 5869, appendix A.3: SHA-256, zero-length salt and info; first 32 bytes of the output
    made = Vault(bytes([0x0B] * 22)).key_for("")
    assert made.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"


@pytest.mark.parametrize("secret", [SECRET, passphrase_secret("correct horse")])
def test_a_vault_opens_with_its_own_secret_only(secret: Secret) -> None:
    vault, header = create_vault(secret)
    assert open_vault(header, secret, "vault.json").data_key == vault.data_key
    assert vault.data_key.hex() not in str(header)
    with pytest.raises(InputError, match="does not open with this"):
        open_vault(header, Secret(secret.kind, b"other" * 8), "vault.json")


def test_a_vault_says_what_it_opens_with() -> None:
    _, header = create_vault(SECRET)
    with pytest.raises(
        InputError, match=r"vault.json: opens with a key file, not with a passphrase\."
    ):
        open_vault(header, passphrase_secret("x"), "vault.json")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("salt", "zz"),
        ("salt", None),
        ("nonce", "00"),
        ("wrapped_key", "00" * 48),
        ("scrypt", {"n": 1 << 40}),
        ("scrypt", {"n": 15}),
        ("schema", "other"),
    ],
)
def test_a_changed_header_is_refused(name: str, value: object) -> None:
    secret = passphrase_secret("x")
    _, header = create_vault(secret)
    with pytest.raises(InputError, match="vault"):
        open_vault({**header, name: value}, secret, "vault.json")
    with pytest.raises(InputError, match="has the schema 'None'"):
        open_vault([], secret, "vault.json")


def test_a_key_file_is_written_once_and_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "vault.key"
    new_key_file(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(read_key_file(path).value) == 32
    with pytest.raises(InputError, match="a key is never overwritten"):
        new_key_file(path)
    path.chmod(0o644)
    with pytest.raises(InputError, match=r"can be read by other users\. Run first: chmod 600"):
        read_key_file(path)


@pytest.mark.parametrize("content", ["", "nodulebench-vault-key-1", "x " + "0" * 64])
def test_another_file_is_not_a_key_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "vault.key"
    path.write_text(content)
    with pytest.raises(InputError, match=r"is not a key file of a vault\. Make one with"):
        read_key_file(path)
    with pytest.raises(InputError, match=r"nothing: cannot be read: No such file.*Make one with"):
        read_key_file(tmp_path / "nothing")


def test_a_secret_never_shows_itself() -> None:
    assert "correct" not in repr(passphrase_secret("correct horse"))
    assert repr(Vault(b"k" * 32)) == "Vault()"
