"""A set that was sealed and used before people had keys opens as it is, or gets keys.

``sealed_by_0_1.zip`` was written by the code before logs had signatures, with ``builders.sealed``:
the sealed set, an anchor with its signature, and the throwaway key that signed both.
"""

import zipfile
from pathlib import Path

import pytest

from builders.keyed import KeyedDesk, make_keyed_desk
from builders.sealed import SECRET
from nodulebench.errors import InputError
from nodulebench.storage.signature import signing_key
from nodulebench.workflows.custody.audit_log import read_audit
from nodulebench.workflows.custody.evaluate_sealed import LookOrder, evaluate_sealed
from nodulebench.workflows.custody.life.migrate import migrate
from nodulebench.workflows.custody.unseal import export_reference, open_result
from nodulebench.workflows.custody.verify_sealed import verify_sealed

pytest.importorskip("pyrage")


@pytest.fixture
def desk(tmp_path: Path) -> KeyedDesk:
    """A desk whose sealed set is the older one; its people have keys that nobody brought in yet."""
    made = make_keyed_desk(tmp_path)
    for name in ("key.pem", "key.pub.pem"):
        (tmp_path / name).unlink()
    with zipfile.ZipFile(Path(__file__).with_name("sealed_by_0_1.zip")) as file:
        file.extractall(tmp_path)
    (tmp_path / "key.pem").chmod(0o600)
    return made


def test_an_older_set_verifies_opens_and_is_used_further(desk: KeyedDesk) -> None:
    anchor = desk.folder / "anchor.json"
    for secret in (None, SECRET):
        found = verify_sealed(
            desk.sealed, secret=secret, public_key=desk.public_key, anchors=[anchor]
        )
        assert found.is_good, found.problems
        assert not found.has_keys
    assert verify_sealed(desk.sealed, secret=desk.secret("Bo")).is_good  # NODULEBENCH_KEY is set
    with pytest.raises(InputError, match=r"knows no keys of people\. Give --vault-key"):
        open_result(desk.sealed, desk.secret("Cem"), "", 2)
    assert read_audit(desk.sealed).uses[0].developer == "example"
    assert "evaluation" in open_result(desk.sealed, SECRET, "Cem", 2)
    assert export_reference(desk.sealed, SECRET, "Ada", "x", desk.folder / "plain") == 3
    marks = desk.marks("more.csv", "scan0", "scan1")
    told, _ = evaluate_sealed(LookOrder(marks, desk.sealed, SECRET, "Bo", "Example", bootstraps=0))
    assert told["looks"]["look"] == 2
    found = verify_sealed(desk.sealed, secret=SECRET, anchors=[anchor])
    assert found.is_good, found.problems


def test_an_older_set_gets_keys_and_keeps_its_history(desk: KeyedDesk) -> None:
    migrate(
        desk.sealed,
        SECRET,
        "Ada",
        policy=desk.folder / "policy.toml",
        key=desk.secret("Ada"),
        signing_key=signing_key(desk.folder / "key.pem"),
    )
    assert "evaluation" in open_result(desk.sealed, desk.secret("Cem"), "", 2)
    told, _ = evaluate_sealed(desk.look("more.csv", "scan0", "scan1"))
    assert told["looks"]["look"] == 2
    found = verify_sealed(
        desk.sealed,
        secret=desk.secret("Safe"),
        public_key=desk.public_key,
        anchors=[desk.folder / "anchor.json"],
    )
    assert found.is_good, found.problems
