import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from builders.hidden_packages import hide_package
from nodulebench.core.errors import InputError
from nodulebench.io.manifests import MANIFEST, SIGNATURE, manifest_problems, write_manifest
from nodulebench.security.signatures import check_signature, is_encrypted, new_key, sign_folder

NOON = datetime(2026, 5, 4, 12, 0, 0, 999, tzinfo=UTC)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """A private key; the public one lies next to it."""
    new_key(tmp_path / "key.pem")
    return tmp_path / "key.pem"


@pytest.fixture
def public(key: Path) -> Path:
    """The public key of ``key``."""
    return key.with_name("key.pub.pem")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a manifest."""
    (tmp_path / "out" / "inputs").mkdir(parents=True)
    (tmp_path / "out" / "evaluation.json").write_text('{"cpm": 0.842}')
    (tmp_path / "out" / "inputs" / "marks.parquet").write_bytes(bytes(range(64)))
    write_manifest(tmp_path / "out")
    return tmp_path / "out"


def refused(folder: Path, public: Path | None) -> str:
    with pytest.raises(InputError) as caught:
        check_signature(folder, public)
    return str(caught.value)


def test_a_signature_says_who_signed_when_with_which_key(
    folder: Path, key: Path, public: Path
) -> None:
    signed = sign_folder(folder, key, by="Test lab", at=NOON)
    assert (signed.at, signed.by) == ("2026-05-04T12:00:00+00:00", "Test lab")
    signature = check_signature(folder, public)
    assert signature is not None
    assert signature.signed == signed
    assert signature.is_known
    assert manifest_problems(folder) == []


def test_without_a_key_at_hand_it_holds_but_by_whom_is_not_known(folder: Path, key: Path) -> None:
    sign_folder(folder, key)
    signature = check_signature(folder)
    assert signature is not None
    assert not signature.is_known


def test_a_folder_that_is_not_signed(folder: Path, public: Path) -> None:
    assert check_signature(folder) is None
    assert refused(folder, public) == (
        f"{folder}: is not signed. Sign it with: nodulebench sign DIR --key key.pem"
    )


def test_another_key(folder: Path, key: Path, tmp_path: Path) -> None:
    signed = sign_folder(folder, key)
    other, digest = new_key(tmp_path / "other.pem")
    assert refused(folder, other) == (
        f"{folder / MANIFEST}: says that it was signed with the key {signed.key}, which is not "
        f"{other} ({digest}). Ask the signer for the public key."
    )


def test_a_manifest_that_only_names_the_right_key_is_found(
    folder: Path, key: Path, public: Path, tmp_path: Path
) -> None:
    ours = sign_folder(folder, key)
    new_key(tmp_path / "other.pem")
    theirs = sign_folder(folder, tmp_path / "other.pem")
    text = (folder / MANIFEST).read_text()
    forged = text.replace(theirs.key, ours.key).replace(theirs.public_key, ours.public_key)
    (folder / MANIFEST).write_text(forged)
    assert "manifest.sig: does not belong to manifest.json" in refused(folder, public)
    assert "manifest.sig: does not belong to manifest.json" in refused(folder, None)


@pytest.mark.slow
@pytest.mark.parametrize("has_key", [True, False])
def test_any_changed_byte_of_any_file_is_found_and_its_file_named(
    folder: Path, key: Path, public: Path, has_key: bool
) -> None:
    sign_folder(folder, key, by="Test lab", at=NOON)
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        whole = file.read_bytes()
        for place in range(len(whole)):
            changed = bytearray(whole)
            changed[place] ^= 1 << (place % 8)
            file.write_bytes(changed)
            assert file.name in problems_of(folder, public if has_key else None), (file, place)
        file.write_bytes(whole)
    assert problems_of(folder, public if has_key else None) == ""


def problems_of(folder: Path, public: Path | None) -> str:
    problems = manifest_problems(folder)
    try:
        check_signature(folder, public)
    except InputError as error:
        problems.extend(error.problems)
    return "\n".join(map(str, problems))


def test_a_lost_signature_is_reported(folder: Path, key: Path, public: Path) -> None:
    sign_folder(folder, key)
    (folder / SIGNATURE).unlink()
    for given in (public, None):
        assert refused(folder, given) == (
            f"{folder / SIGNATURE}: does not exist, but manifest.json names a signer."
        )


def test_a_signature_without_a_signer_is_reported(folder: Path) -> None:
    (folder / SIGNATURE).write_bytes(b"x" * 64)
    assert refused(folder, None) == (
        f"{folder / SIGNATURE}: exists, but manifest.json names no signer."
    )


def test_a_changed_folder_is_not_signed(folder: Path, key: Path) -> None:
    (folder / "evaluation.json").write_text('{"cpm": 0.999}')
    with pytest.raises(InputError, match=r"evaluation\.json: was changed after"):
        sign_folder(folder, key)
    assert not (folder / SIGNATURE).exists()


def test_signing_again_replaces_the_signature(folder: Path, key: Path, tmp_path: Path) -> None:
    sign_folder(folder, key)
    other, _ = new_key(tmp_path / "other.pem")
    sign_folder(folder, tmp_path / "other.pem", by="second")
    signature = check_signature(folder, other)
    assert signature is not None
    assert signature.signed.by == "second"


def test_the_private_key_is_for_its_owner_only_and_never_overwritten(key: Path) -> None:
    assert key.stat().st_mode & 0o777 == 0o600
    before = key.read_bytes()
    with pytest.raises(InputError) as caught:
        new_key(key)
    assert str(caught.value).splitlines() == [
        f"{key}: already exists; a key is never overwritten. Choose a new name.",
        f"{key.with_name('key.pub.pem')}: already exists; a key is never overwritten. "
        "Choose a new name.",
    ]
    assert key.read_bytes() == before


@pytest.mark.parametrize("passphrase", ["", "secret"])
def test_a_key_that_others_can_read_is_refused(
    folder: Path, tmp_path: Path, passphrase: str
) -> None:
    path = tmp_path / "open.pem"
    new_key(path, passphrase)
    for mode in (0o640, 0o604, 0o644):
        path.chmod(mode)
        with pytest.raises(
            InputError, match=r"open.pem: can be read by other users\. Run first: chmod"
        ):
            sign_folder(folder, path, passphrase=passphrase)
    path.chmod(0o400)
    sign_folder(folder, path, passphrase=passphrase)


def test_an_encrypted_key_needs_its_passphrase(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "locked.pem"
    public, _ = new_key(path, "correct horse")
    assert is_encrypted(path)
    assert b"BEGIN ENCRYPTED PRIVATE KEY" in path.read_bytes()
    with pytest.raises(InputError, match=r"locked\.pem: has a passphrase, but none was given"):
        sign_folder(folder, path)
    with pytest.raises(InputError, match=r"locked\.pem: does not open with this passphrase"):
        sign_folder(folder, path, passphrase="wrong horse")  # noqa: S106
    sign_folder(folder, path, passphrase="correct horse")  # noqa: S106
    assert check_signature(folder, public) is not None


def test_a_passphrase_for_a_key_that_needs_none_is_not_a_trouble(folder: Path, key: Path) -> None:
    assert not is_encrypted(key)
    sign_folder(folder, key, passphrase="not needed")  # noqa: S106


def test_what_is_not_a_key_is_reported(
    folder: Path, key: Path, public: Path, tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    other = X25519PrivateKey.generate()
    pem, no_key = serialization.Encoding.PEM, tmp_path / "no_key.pem"
    x_private, x_public = tmp_path / "x.pem", tmp_path / "x.pub.pem"
    x_private.write_bytes(
        other.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    x_private.chmod(0o600)
    x_public.write_bytes(
        other.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    no_key.write_text("hello")
    for given, message in (
        (public, "is a public key; signing needs the private one."),
        (
            no_key,
            "is not a private key, or is damaged. Make one with: nodulebench keys new key.pem "
            "--pem",
        ),
        (x_private, "is not an Ed25519 key. Make one with: nodulebench keys new key.pem --pem"),
        (tmp_path / "none.pem", "cannot be read: No such file or directory."),
    ):
        with pytest.raises(InputError) as caught:
            sign_folder(folder, given)
        assert str(caught.value).startswith(f"{given}: {message}")
    sign_folder(folder, key)
    for given, message in (
        (key, "is a private key. Check with the public key; keep this one secret."),
        (no_key, "is not a public key in PEM or OpenSSH format."),
        (x_public, "is not an Ed25519 key."),
    ):
        assert refused(folder, given) == f"{given}: {message}"


def test_openssl_says_the_same(folder: Path, key: Path, public: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl program to ask")
    signed = sign_folder(folder, key)

    def ask(*arguments: object) -> subprocess.CompletedProcess[bytes]:
        command = [openssl, *map(str, arguments)]
        return subprocess.run(command, capture_output=True, check=False)

    given = ("-rawin", "-pubin", "-inkey", public, "-in", folder / MANIFEST)
    assert ask("pkeyutl", "-verify", *given, "-sigfile", folder / SIGNATURE).returncode == 0
    der = ask("pkey", "-pubin", "-in", public, "-outform", "DER").stdout
    (folder / "der").write_bytes(der)
    assert ask("dgst", "-sha256", "-r", folder / "der").stdout.decode().startswith(signed.key[7:])
    (folder / MANIFEST).write_bytes((folder / MANIFEST).read_bytes().replace(b"a", b"b"))
    assert ask("pkeyutl", "-verify", *given, "-sigfile", folder / SIGNATURE).returncode != 0


def test_a_missing_package_is_named_with_the_command_that_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_package(monkeypatch, "cryptography")
    with pytest.raises(InputError) as caught:
        new_key(tmp_path / "key.pem")
    assert str(caught.value) == (
        "signing: needs cryptography, which is not installed. pip install 'nodulebench[sign]'"
    )


def test_a_public_key_that_a_killed_run_did_not_write_is_written(tmp_path: Path) -> None:
    public, digest = new_key(tmp_path / "key.pem", "secret")
    before = public.read_bytes(), (tmp_path / "key.pem").read_bytes()
    public.unlink()
    with pytest.raises(InputError, match="a key is never overwritten"):
        new_key(tmp_path / "key.pem", "another secret")
    assert new_key(tmp_path / "key.pem", "secret") == (public, digest)
    assert (public.read_bytes(), (tmp_path / "key.pem").read_bytes()) == before
    assert (tmp_path / "key.pem").stat().st_mode & 0o077 == 0
