"""What is sealed opens only with the key of its compartment, as the same thing, and unchanged."""

import base64
import copy
import hashlib
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders.hidden_packages import hide_package
from nodulebench.core.errors import InputError
from nodulebench.security import vault as vault_module
from nodulebench.security.keys import PrivateKey, new_person_key, read_private_key
from nodulebench.security.vault import (
    Holder,
    Vault,
    holders_of,
    new_vault,
    open_vault,
    vault_header,
    without_holder,
)

pytest.importorskip("pyrage")
COMPARTMENTS = ("reference", "archive", "results")
VAULT = Vault("identity", {"all": bytes(32)}, lambda _: "all")


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vault_module, "SEGMENT_BYTES", 64)


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
    made = vault_module._derived(bytes([0x0B] * 22), "")
    assert made.hex() == "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d"


def test_a_vault_never_shows_its_keys() -> None:
    assert repr(VAULT) == "Vault(identity='identity')"


def compartment_of(name: str) -> str:
    return name.partition("/")[0]


def opened(header: Any, key: PrivateKey) -> Vault:
    return open_vault(header, key, "vault.json", compartment_of)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, PrivateKey]:
    folder = tmp_path_factory.mktemp("keys")
    for name in ("ada", "bo", "cem"):
        new_person_key(folder / name)
    return {name: read_private_key(folder / name) for name in ("ada", "bo", "cem")}


@pytest.fixture
def header(keys: dict[str, PrivateKey]) -> dict[str, Any]:
    return vault_header(
        new_vault(COMPARTMENTS, compartment_of),
        [
            Holder("Ada", keys["ada"].public, ("reference", "archive")),
            Holder("Cem", keys["cem"].public, ("results",)),
        ],
    )


@given(given=st.lists(st.sampled_from(COMPARTMENTS), unique=True), plain=st.binary(max_size=200))
def test_a_key_opens_what_it_was_given_and_nothing_else(
    keys: dict[str, PrivateKey], given: list[str], plain: bytes
) -> None:
    vault = new_vault(COMPARTMENTS, compartment_of)
    header = vault_header(vault, [Holder("Bo", keys["bo"].public, tuple(given))])
    mine = opened(json.loads(json.dumps(header)), keys["bo"])
    for compartment in COMPARTMENTS:
        sealed = vault.seal(plain, f"{compartment}/a")
        if compartment in given:
            assert mine.open(sealed, f"{compartment}/a", "a") == plain
            assert (
                vault.open(mine.seal(plain, f"{compartment}/b"), f"{compartment}/b", "b") == plain
            )
        else:
            with pytest.raises(InputError, match=f"does not open the compartment '{compartment}'"):
                mine.open(sealed, f"{compartment}/a", "a")
            with pytest.raises(InputError, match="this key does not open"):
                mine.authenticator(plain, compartment)


def test_what_is_sealed_in_one_compartment_does_not_open_in_another() -> None:
    vault = new_vault(COMPARTMENTS, lambda name: "reference" if name == "a" else "archive")
    other = Vault(vault.identity, vault.keys, lambda _: "archive")
    with pytest.raises(InputError, match="was changed"):
        other.open(vault.seal(b"x", "a"), "a", "a")


def test_somebody_without_a_part_is_reported_who_has_one(
    header: dict[str, Any], keys: dict[str, PrivateKey]
) -> None:
    with pytest.raises(InputError, match=r"wraps nothing for the key SHA256:.*keys of: Ada, Cem"):
        opened(header, keys["bo"])
    with pytest.raises(InputError, match="wraps nothing"):
        opened(without_holder(header, "Cem"), keys["cem"])


def test_swapped_recipients_are_refused(
    header: dict[str, Any], keys: dict[str, PrivateKey]
) -> None:
    first, second = header["people"]
    swapped = copy.deepcopy(header)
    swapped["people"][0]["key"], swapped["people"][1]["key"] = second["key"], first["key"]
    with pytest.raises(InputError, match="does not open with this key"):
        opened(swapped, keys["ada"])
    swapped = copy.deepcopy(header)
    swapped["people"][0]["wrapped"] = second["wrapped"]
    swapped["people"][1]["wrapped"] = first["wrapped"]
    with pytest.raises(InputError, match="does not open with this key"):
        opened(swapped, keys["cem"])


def test_what_was_wrapped_in_another_vault_is_refused(
    header: dict[str, Any], keys: dict[str, PrivateKey]
) -> None:
    other = vault_header(
        new_vault(COMPARTMENTS, compartment_of),
        [Holder("Cem", keys["cem"].public, ("results",))],
    )
    header["people"][1] = other["people"][0]
    with pytest.raises(InputError, match="were wrapped for another vault or person"):
        opened(header, keys["cem"])


def test_more_compartments_than_were_wrapped_are_refused(
    header: dict[str, Any], keys: dict[str, PrivateKey]
) -> None:
    header["people"][1]["compartments"] = list(COMPARTMENTS)
    with pytest.raises(InputError, match="were wrapped for another vault or person"):
        opened(header, keys["cem"])


@pytest.mark.parametrize(
    "wrong", [None, [], {}, {"schema": "nodulebench/vault@2", "vault": "0", "people": [{}]}]
)
def test_what_is_not_a_header_is_refused(wrong: object, keys: dict[str, PrivateKey]) -> None:
    with pytest.raises(InputError, match="is not a vault that opens with keys of people"):
        opened(wrong, keys["ada"])


def test_no_one_hands_on_what_they_cannot_open(
    header: dict[str, Any], keys: dict[str, PrivateKey]
) -> None:
    mine = opened(header, keys["cem"])
    with pytest.raises(InputError, match="does not open the compartment 'reference'"):
        vault_header(mine, [Holder("Bo", keys["bo"].public, ("reference",))], header)
    more = vault_header(mine, [Holder("Bo", keys["bo"].public, ("results",))], header)
    assert [holder.person for holder in holders_of(more, "v")] == ["Ada", "Cem", "Bo"]
    assert more["people"][:2] == header["people"]
    assert opened(more, keys["bo"]).keys == mine.keys


def test_no_key_is_in_the_header(keys: dict[str, PrivateKey]) -> None:
    vault = new_vault(COMPARTMENTS, compartment_of)
    text = json.dumps(vault_header(vault, [Holder("Bo", keys["bo"].public, COMPARTMENTS)]))
    for key in vault.keys.values():
        assert key.hex() not in text
        assert key.hex() not in repr(vault)


def test_age_itself_opens_what_is_wrapped(
    header: dict[str, Any], keys: dict[str, PrivateKey], tmp_path: Path
) -> None:
    if shutil.which("age") is None:
        pytest.skip("age is not installed")
    (tmp_path / "key").write_bytes(keys["cem"].opened_pem())
    (tmp_path / "key").chmod(0o600)
    done = subprocess.run(
        ["age", "-d", "-i", tmp_path / "key"],
        input=base64.b64decode(header["people"][1]["wrapped"]),
        capture_output=True,
        check=True,
    )
    content = json.loads(done.stdout)
    assert content["compartments"] == {"results": opened(header, keys["cem"]).keys["results"].hex()}


def test_the_missing_extra_is_named(
    keys: dict[str, PrivateKey], monkeypatch: pytest.MonkeyPatch
) -> None:
    hide_package(monkeypatch, "pyrage")
    with pytest.raises(InputError, match=r"needs pyrage, .* pip install 'nodulebench\[keys\]'"):
        vault_header(new_vault(COMPARTMENTS, compartment_of), [Holder("Bo", keys["bo"].public, ())])
