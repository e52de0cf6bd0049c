"""A key table is shared: concurrent runs lose no one, and it is created once."""

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from builders.identified_slice import PATIENT, identified_slice, write_slice
from builders.people import person_key, write_key
from nodulebench.core.errors import InputError
from nodulebench.curation.deidentify.key_table import open_key_table, read_key_table
from nodulebench.curation.deidentify.service import DeidentifyOptions, deidentify_folder
from nodulebench.io.atomic import LEFTOVER
from nodulebench.security.keys import PrivateKey, new_person_key, read_private_key
from nodulebench.security.signatures import signature_code
from nodulebench.security.vault import decrypted_by, encrypted_for

pytest.importorskip("cryptography")
KEY = person_key("Ada")
ROWS = [{"series": "1"}]
TESTS = Path(__file__).parents[3]


def test_a_run_within_a_run_loses_no_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_slice(identified_slice(1, patient=name), tmp_path / name / "1.dcm")
    keys = tmp_path / "keys"

    def meanwhile(*_: object) -> None:
        deidentify_folder(
            DeidentifyOptions(folder=tmp_path / "two", out=tmp_path / "out two", key_table=keys),
            KEY,
        )

    deidentify_folder(
        DeidentifyOptions(folder=tmp_path / "one", out=tmp_path / "out", key_table=keys),
        KEY,
        progress=meanwhile,
    )
    rows = read_key_table(keys, KEY)
    assert {row["patient"] for row in rows} == {"one"}  # one series: the latest row counts
    slices = [
        identified_slice(1, patient=name, date=date)
        for name, date in (("a", "20210101"), ("b", "20210102"))
    ]
    for name, data in zip(("one", "two"), slices, strict=True):
        write_slice(data, tmp_path / name / "1.dcm")
    deidentify_folder(
        DeidentifyOptions(folder=tmp_path / "one", out=tmp_path / "out", key_table=keys),
        KEY,
        progress=meanwhile,
    )
    assert {row["patient"] for row in read_key_table(keys, KEY)} == {"one", "a", "b"}


def test_a_table_is_created_once_by_concurrent_runs(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: open_key_table(tmp_path / "keys", KEY), range(16)))
    assert len({table.pseudonym_key for table in made}) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["keys"]


def test_rows_added_at_the_same_time_are_all_stored(tmp_path: Path) -> None:
    table = open_key_table(tmp_path / "keys", KEY)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: table.add([{"series": str(number)}]), range(24)))
    assert len(read_key_table(tmp_path / "keys", KEY)) == 24


def test_another_table_in_its_place_is_not_written_over(tmp_path: Path) -> None:
    table = open_key_table(tmp_path / "keys", KEY)
    (tmp_path / "keys").unlink()
    open_key_table(tmp_path / "keys", KEY).add([{"series": "1"}])
    with pytest.raises(InputError, match="is now another key table"):
        table.add([{"series": "2"}])
    assert read_key_table(tmp_path / "keys", KEY) == [{"series": "1"}]


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full"])  # killed, too: benchmarks/broken_runs.py
def test_stopped_at_any_operation_the_next_run_completes_it(tmp_path: Path, how: str) -> None:
    for number in (1, 2):
        write_slice(identified_slice(number), tmp_path / "in" / f"{number}.dcm")
    ran = subprocess.run(
        [sys.executable, "-m", "builders.killed_deidentify", str(tmp_path), how, "4"],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS,
    )
    assert ran.returncode == 0, ran.stderr
    outcomes = json.loads(ran.stdout)
    assert len(outcomes) > 4
    for outcome in outcomes:
        assert set(outcome["stopped"]) <= set(
            outcome["slices"]
        )  # nothing half-written is ever seen
        assert len(outcome.pop("slices")) == 2
        left = [name for name in outcome.pop("left") if not LEFTOVER.fullmatch(name)]
        assert (outcome["problems"], outcome["patients"], left) == ([], [PATIENT], [])


def test_a_table_is_an_age_file_that_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    open_key_table(path, KEY).add([{"series": "1.2.3", "patient": PATIENT}])
    content = path.read_bytes()
    assert content.startswith(b"age-encryption.org/v1\n")
    assert PATIENT.encode() not in content
    assert PATIENT not in repr(open_key_table(path, KEY))
    assert open_key_table(path, KEY).pseudonym_key.hex() not in repr(open_key_table(path, KEY))


def test_a_person_who_was_not_named_reads_nothing_and_is_told_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    open_key_table(path, KEY).add(ROWS)
    for colleagues in ((), (KEY.public,)):
        with pytest.raises(InputError, match=r"does not open with this key.*--colleague YOUR_PUB"):
            read_key_table(path, person_key("Bo"), colleagues)


def test_a_colleague_reads_and_writes_and_each_names_the_other(tmp_path: Path) -> None:
    path, bo = tmp_path / "keys", person_key("Bo")
    open_key_table(path, KEY, [bo.public]).add(ROWS)
    assert read_key_table(path, bo, [KEY.public]) == ROWS
    with pytest.raises(InputError, match=r"which is neither yours nor a colleague's\. Give the"):
        read_key_table(path, bo)
    open_key_table(path, bo, [KEY.public]).add([{"series": "2"}])
    with pytest.raises(
        InputError, match=f"was written with the key {re.escape(bo.public.fingerprint)}"
    ):
        read_key_table(path, KEY)
    assert read_key_table(path, KEY, [bo.public]) == [*ROWS, {"series": "2"}]


def test_readers_stay_and_a_later_colleague_is_added(tmp_path: Path) -> None:
    path, bo, cem = tmp_path / "keys", person_key("Bo"), person_key("Cem")
    open_key_table(path, KEY, [bo.public]).add(ROWS)
    open_key_table(path, KEY, [cem.public]).add([])
    for reader in (KEY, bo, cem):
        assert read_key_table(path, reader, [KEY.public]) == ROWS


def test_any_changed_byte_of_a_table_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    open_key_table(path, KEY).add(ROWS)
    content = path.read_bytes()
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 7
        path.write_bytes(bytes(changed))
        with pytest.raises(
            InputError, match=r"keys: (does not open|is not a key table|opens with)"
        ):
            read_key_table(path, KEY)
    for length in range(0, len(content), 11):
        path.write_bytes(content[:length])
        with pytest.raises(InputError, match="keys: "):
            read_key_table(path, KEY)


def plain(path: Path, key: PrivateKey) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(decrypted_by(path.read_bytes(), key, "table"))
    return content


def test_a_table_of_a_stranger_is_refused_even_if_it_names_a_colleague(tmp_path: Path) -> None:
    """Anybody can encrypt for public keys, and everybody knows these."""
    path, eve = tmp_path / "keys", person_key("Eve")
    open_key_table(path, eve, [KEY.public]).add(ROWS)
    with pytest.raises(InputError, match="which is neither yours nor a colleague's"):
        read_key_table(path, KEY)
    with pytest.raises(InputError, match="which is neither yours nor a colleague's"):
        open_key_table(path, KEY, [person_key("Bo").public])
    forged = plain(path, eve) | {"writer": KEY.public.line}
    path.write_bytes(encrypted_for(json.dumps(forged).encode(), KEY.public))
    with pytest.raises(InputError, match="was changed: its signature is not valid"):
        read_key_table(path, KEY)


@pytest.mark.parametrize("name", ["schema", "writer", "readers", "pseudonym_key", "rows"])
def test_every_field_of_a_table_is_signed(tmp_path: Path, name: str) -> None:
    """A colleague can decrypt the table, but not write into it in the name of another."""
    path, bo = tmp_path / "keys", person_key("Bo")
    open_key_table(path, KEY, [bo.public]).add(ROWS)
    others = {
        "schema": "nodulebench/key-table@3",
        "writer": bo.public.line,
        "readers": [bo.public.line],
        "pseudonym_key": "00" * 32,
        "rows": [],
    }
    content = plain(path, bo)
    assert content.keys() == {*others, "signature"}
    for changed in ({**content, name: others[name]}, {**content, "more": 1}):
        path.write_bytes(encrypted_for(json.dumps(changed).encode(), KEY.public))
        with pytest.raises(InputError, match="was changed: its signature is not valid"):
            read_key_table(path, KEY, [bo.public])
    del content[name]
    path.write_bytes(encrypted_for(json.dumps(content).encode(), KEY.public))
    with pytest.raises(InputError, match="is not a key table"):
        read_key_table(path, KEY, [bo.public])


def test_a_signature_for_something_else_is_not_one_for_a_table(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    open_key_table(path, KEY).add(ROWS)
    content = plain(path, KEY) | {"rows": []}
    content["signature"] = signature_code(b"an event of a log", KEY)
    path.write_bytes(encrypted_for(json.dumps(content).encode(), KEY.public))
    with pytest.raises(InputError, match="its signature is not valid"):
        read_key_table(path, KEY)


@pytest.mark.parametrize("content", [b"[]", b"null", b"{}", b"not JSON", b"\xff", b"5"])
def test_what_is_encrypted_for_a_person_need_not_be_a_table(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys"
    path.write_bytes(encrypted_for(content, KEY.public))
    with pytest.raises(InputError, match="is not a key table"):
        read_key_table(path, KEY)


def test_a_table_of_a_shared_secret_is_refused_with_the_next_step(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text('{"schema": "nodulebench/key-table@1", "vault": {}, "sealed": ""}\n')
    for use in (read_key_table, open_key_table):
        with pytest.raises(InputError, match=r"opens with a shared secret.*with a new key table"):
            use(path, KEY)
    assert path.read_text().startswith("{")


def test_a_key_with_a_passphrase_opens_a_table(tmp_path: Path) -> None:
    public = new_person_key(tmp_path / "dan", "correct horse")
    open_key_table(tmp_path / "keys", KEY, [public]).add(ROWS)
    with pytest.raises(InputError, match="dan: has a passphrase, but none was given"):
        read_private_key(tmp_path / "dan")
    dan = read_private_key(tmp_path / "dan", "correct horse")
    assert read_key_table(tmp_path / "keys", dan, [KEY.public]) == ROWS


def test_age_itself_opens_a_table(tmp_path: Path) -> None:
    if shutil.which("age") is None:
        pytest.skip("age is not installed")
    open_key_table(tmp_path / "keys", KEY).add(ROWS)
    key = write_key("Ada", tmp_path)
    done = subprocess.run(
        ["age", "-d", "-i", key, tmp_path / "keys"], capture_output=True, check=True
    )
    assert json.loads(done.stdout)["rows"] == ROWS
