"""A lab seals a set, a developer is scored on it, an auditor checks; all from the command line."""

from pathlib import Path

import pytest

from builders.sealed import SealedLab, make_lab
from nodulebench.cli import main
from nodulebench.security.keys import read_public_key

pytest.importorskip("cryptography")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SealedLab:
    monkeypatch.chdir(tmp_path)
    return make_lab(tmp_path)


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(words))
    return int(stopped.value.code or 0)


SEAL = ["seal", "bundle", "--key", "ada.key", "--policy", "policy.toml"]
OUT = ["--out", "sealed"]
SEAL += OUT


def test_protocols_that_divide_differently_are_reported(
    lab: SealedLab, capsys: pytest.CaptureFixture[str]
) -> None:
    policy = lab.folder / "policy.toml"
    named = '[reuse]\nprotocols = ["luna16", "fotin-2008"]'
    policy.write_text(policy.read_text().replace("[reuse]", named))
    assert run(*SEAL) == 0
    shown = capsys.readouterr().err
    assert "protocols luna16 and fotin-2008 of the policy differ in size_limit" in shown


def test_from_sealing_to_the_audit(lab: SealedLab, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*SEAL) == 0
    shown = capsys.readouterr()
    assert "sealed small: 15 files, 3 of the set encrypted" in shown.out
    assert "the policy names neither plans nor protocols" in shown.err
    assert run("verify", "sealed", "--public-key", "ada.key.pub", "--key", "cem.key") == 0
    out = capsys.readouterr().out
    assert "log         1 events, chain and all signatures" in out
    assert "sealed: verified" in out

    lab.marks("mine.csv", "scan0", "scan1")
    score = [
        "evaluate",
        "mine.csv",
        "--reference",
        "sealed",
        "--key",
        "bo.key",
        "--bootstraps",
        "20",
    ]
    assert run(*score, "--developer", "Example", "--out", "feedback") == 0
    out = capsys.readouterr().out
    assert "luna16.recall 0.5, at least" in out
    assert "evaluation 1 of 2" in out
    assert run("audit", "sealed", "--write-checkpoint", "small.checkpoint", "--key", "cem.key") == 0
    out = capsys.readouterr().out
    assert "evaluated           Bo (operator)" in out
    assert "developer example: 1 of 2 evaluations" in out
    assert "wrote small.checkpoint: 3 events" in out

    assert run("unseal", "sealed", "--key", "bo.key", "--out", "plain", "--reason", "x") == 1
    assert "'Bo' is operator and may not export" in capsys.readouterr().err
    assert run("unseal", "sealed", "--key", "ada.key", "--out", "plain", "--reason", "x") == 0
    assert run("unseal", "sealed", "--key", "cem.key", "--evaluation", "2") == 0
    assert '"corrected"' in capsys.readouterr().out

    for event in sorted(Path("sealed/audit").glob("0*.json"))[2:]:
        event.unlink()
    assert run("verify", "sealed", "--checkpoint", "small.checkpoint") == 1
    errors = capsys.readouterr().err
    assert "small.checkpoint: says that the log has 3 events, but it ends with 2" in errors
    assert run("audit", "sealed") == 1


def test_a_key_is_named_by_the_environment_and_may_have_a_passphrase(
    lab: SealedLab, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("right").write_text("correct horse\n")
    Path("wrong").write_text("other\n")
    assert run("keys", "new", "dan.key", "--key-passphrase-file", "right") == 0
    policy = lab.folder / "policy.toml"
    new = read_public_key(Path("dan.key.pub")).line
    policy.write_text(policy.read_text().replace(lab.line("Bo"), new))
    assert run(*SEAL) == 0
    lab.marks("mine.csv", "scan0", "scan1")
    score = ["evaluate", "mine.csv", "--reference", "sealed", "--developer", "Example"]
    monkeypatch.setenv("NODULEBENCH_KEY", "dan.key")
    capsys.readouterr()
    assert run(*score, "--bootstraps", "20") == 1
    assert "dan.key: has a passphrase, but none was given" in capsys.readouterr().err
    assert run(*score, "--bootstraps", "20", "--key-passphrase-file", "wrong") == 1
    assert "does not open with this passphrase" in capsys.readouterr().err
    assert run(*score, "--bootstraps", "20", "--key-passphrase-file", "right") == 0
    assert "evaluation 1 of 2" in capsys.readouterr().out


def test_no_name_passes_for_an_event_of_the_log(
    lab: SealedLab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*SEAL) == 0
    marks = lab.marks("mine\n   9  forged\x1b[2K.csv", "scan0")
    score = [
        "evaluate",
        str(marks),
        "--reference",
        "sealed",
        "--key",
        "bo.key",
        "--bootstraps",
        "20",
    ]
    assert run(*score, "--developer", "Example") == 0
    capsys.readouterr()
    assert run("audit", "sealed") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2", "3", "developer"]
    assert r"algorithm mine\n   9  forged\x1b[2K" in lines[1]


def test_a_sealed_set_needs_a_key_and_a_developer(
    lab: SealedLab, capsys: pytest.CaptureFixture[str]
) -> None:
    lab.seal()
    lab.marks("mine.csv", "scan0")
    assert run("evaluate", "mine.csv", "--reference", "sealed") == 1
    assert "a sealed set needs --key and --developer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["seal", "bundle", *SEAL[4:]], "give --key: your private OpenSSH key"),
        (["seal"], "Missing argument 'BUNDLE'"),
        ([*SEAL, "--vault-key", "vault.key"], "No such option '--vault-key'"),
        (
            ["evaluate", "a", "b", "--reference", "sealed", "--key", "bo.key", "--developer", "x"],
            "a sealed set takes one submission",
        ),
        (["unseal", "sealed", "--key", "ada.key"], "give either --out or --evaluation"),
    ],
)
@pytest.mark.usefixtures("lab")
def test_wrong_usage_is_reported(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*words) == 2
    assert message in capsys.readouterr().err


def test_a_bundle_becomes_a_bag_and_verifies(
    lab: SealedLab, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("bundle", "bundle", "--images", "bundle/images", "--out", "bag") == 0
    shown = capsys.readouterr()
    assert "wrote bag: 4 cases, 2 image files" in shown.out
    assert "without an answer: purpose" in shown.out
    assert "warning: 2 cases without images: scan2, scan3" in shown.err
    assert run("verify", "bag") == 0
    listed = ["bundle", "bundle", "--images", "bundle/images", "--list-images", "--out", "list"]
    assert run(*listed) == 0
    assert run("verify", "list", "--images", "bundle/images") == 0
    (lab.bundle / "images" / "scan0" / "0001.dcm").write_bytes(b"x")
    assert run("verify", "list", "--images", "bundle/images") == 1
    assert "is not the file that images.csv lists" in capsys.readouterr().err


def test_keys_come_are_replaced_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyrage")
    monkeypatch.chdir(tmp_path)
    make_lab(tmp_path)
    assert run("seal", "bundle", "--key", "ada.key", "--policy", "policy.toml", *OUT) == 0
    for name in ("bo2", "dee"):
        assert run("keys", "new", name, "--comment", name) == 0
    assert 'in policy.toml: key = "ssh-ed25519 AAAA' in capsys.readouterr().out
    keys, safe = ["keys"], ["sealed", "--key", "safe.key"]
    assert run(*keys, "rotate", "sealed", "--key", "bo.key", "--new-key", "bo2.pub") == 0
    dee = ["--person", "Dee", "--role", "auditor", "--new-key", "dee.pub"]
    assert run(*keys, "admit", *safe, *dee) == 0
    assert run(*keys, "revoke", *safe, "--person", "Cem", "--reason", "left") == 0
    out = capsys.readouterr().out
    assert "event 2: the key of 'Bo' was replaced" in out
    assert "event 3: 'Dee' was admitted as auditor" in out
    assert "event 4: the key of 'Cem' was revoked" in out
    assert run(*keys, "list", "sealed") == 0
    lines = capsys.readouterr().out.splitlines()
    assert "Cem (auditor), since event 4: no key, or revoked" in lines
    assert any(line.startswith("Dee (auditor), since event 3: SHA256:") for line in lines)
    assert run(*keys, "list", "sealed", "--allowed-signers") == 0
    assert '"Dee" namespaces="nodulebench" ssh-ed25519 AAAA' in capsys.readouterr().out
    assert run("audit", "sealed", "--write-checkpoint", "set.checkpoint", "--key", "dee") == 0
    check = [
        *("custody", "check-copy"),
        "sealed",
        "--key",
        "ada.key",
        "--checkpoint",
        "set.checkpoint",
    ]
    assert run(*check) == 0
    assert "lost        nothing up to event 4" in capsys.readouterr().out
    assert run("custody", "retire", "sealed", "--key", "ada.key", "--reason", "old") == 0
    assert run("audit", "sealed", "--write-checkpoint", "set.checkpoint") == 0
    Path("sealed/audit/00000005.json").unlink()
    assert run(*check) == 1
    assert "could NOT replace the set" in capsys.readouterr().out


def test_a_set_loses_a_patient(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyrage")
    monkeypatch.chdir(tmp_path)
    lab = make_lab(tmp_path)
    assert run("seal", "bundle", "--key", "ada.key", "--policy", "policy.toml", *OUT) == 0
    lab.marks("mine.csv", "scan0", "scan1")
    score = ["evaluate", "mine.csv", "--reference", "sealed", "--developer", "Example"]
    assert run(*score, "--bootstraps", "20", "--key", "bo.key") == 0
    ada = ["sealed", "--key", "ada.key"]
    assert run("custody", "withdraw", *ada, "--case", "scan1", "--reason", "consent ended") == 0
    assert (
        "event 4: 1 case withdrawn, 1 file removed, 1 stored result deleted"
        in capsys.readouterr().out
    )
    assert run("audit", "sealed") == 0
    out = capsys.readouterr().out
    assert "withdrawn           Ada (curator)  cases scan1, change sha256:" in out
    assert "erased_evaluations 1, files 1, reason consent ended" in out
    assert "evaluation 2 was made with scan1, withdrawn since" in out
    assert run("verify", "sealed", "--key", "safe.key") == 0
