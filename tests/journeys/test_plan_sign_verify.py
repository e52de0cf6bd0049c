"""A lab freezes a plan, tests, signs; another lab verifies; a file is changed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nodulebench.cli import main

CRITERIA = """
name = "acceptance"
author = "Test laboratory"

[[criteria]]
metric = "recall"
rule = "luna16"
comparison = ">="
limit = 0.5

[[criteria]]
metric = "recall"
rule = "luna16"
bound = "low"
comparison = ">="
limit = 0.01

[[criteria]]
metric = "fp_per_case"
rule = "luna16"
comparison = "<="
limit = 4
"""
HEADER = "seriesuid,coordX,coordY,coordZ,probability\n"


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small LUNA16 reference, a submission and acceptance criteria."""
    folder = tmp_path / "luna16"
    folder.mkdir()
    columns = "seriesuid,coordX,coordY,coordZ,diameter_mm\n"
    (folder / "annotations.csv").write_text(columns + "scan1,0,0,0,8\nscan2,0,0,0,5\n")
    (folder / "annotations_excluded.csv").write_text(columns)
    (folder / "seriesuids.csv").write_text("scan1\nscan2\nscan3\n")
    (tmp_path / "mine.csv").write_text(HEADER + "scan1,0,0,0,0.9\nscan3,80,0,0,0.4\n")
    (tmp_path / "criteria.toml").write_text(CRITERIA)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(command.split())
    return int(stopped.value.code or 0)


def freeze(more: str = "--bootstraps 50") -> int:
    return run(
        f"test-plan freeze --criteria criteria.toml --reference luna16 --out plan.json {more}"
    )


def evaluate(more: str = "") -> int:
    return run(f"evaluate mine.csv --reference luna16 --plan plan.json --out result {more}")


@pytest.fixture
def signed(workdir: Path, capsys) -> Path:
    """A result, tested under a plan and signed; keys next to it."""
    assert freeze() == 0
    assert evaluate() == 0
    assert run("keys new key.pem --pem") == 0
    assert run("sign result --key key.pem --by Laboratory") == 0
    capsys.readouterr()
    return workdir / "result"


def test_from_plan_to_verified_signature(signed: Path, capsys) -> None:
    assert run("verify result --public-key key.pub.pem") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "files       10 listed" in captured.out
    assert " by Laboratory, key sha256:" in captured.out
    assert "not checked" not in captured.out
    assert captured.out.endswith("result: verified\n")
    document = json.loads((signed / "evaluation.json").read_text())
    assert document["digests"]["plan"] == document["plan"]["digest"]
    assert document["plan"]["verdict"] == "passed"
    assert [criterion["met"] for criterion in document["plan"]["criteria"]] == [True, True, True]
    assert 0.01 <= document["plan"]["criteria"][1]["low"] < 0.02  # one of two patients: 0.0126


@pytest.mark.usefixtures("workdir")
def test_the_verdict_is_shown(capsys) -> None:
    freeze()
    evaluate()
    output = capsys.readouterr().out
    assert "  met        mine: recall (luna16) >= 0.5: 0.500" in output
    assert "  mine: passed" in output


def test_a_failed_test_is_a_result_not_an_error(workdir: Path, capsys) -> None:
    (workdir / "criteria.toml").write_text(CRITERIA.replace("limit = 0.5", "limit = 0.75"))
    freeze()
    assert evaluate() == 3
    output = capsys.readouterr().out
    assert "  NOT MET    mine: recall (luna16) >= 0.75" in output
    assert "  mine: failed" in output
    assert (workdir / "result" / "report.html").is_file()


def test_another_test_set_than_the_planned_one_has_no_verdict(workdir: Path, capsys) -> None:
    freeze()
    (workdir / "fold.csv").write_text("scan1\nscan3\n")
    assert evaluate("--series fold.csv") == 4
    output = capsys.readouterr().out
    assert "NOT THE PLANNED TEST: The list of cases is not the planned one" in output
    assert "  mine: undecided" in output
    document = json.loads((workdir / "result" / "evaluation.json").read_text())["plan"]
    assert (document["matches"], document["verdict"], len(document["differences"])) == (
        False,
        "undecided",
        2,
    )
    assert run("verify result") == 0


def test_a_plan_for_a_fold_is_the_plan_of_that_fold(workdir: Path, capsys) -> None:
    (workdir / "fold.csv").write_text("scan1\nscan3\n")
    assert freeze("--bootstraps 50 --series fold.csv") == 0
    assert "acceptance: luna16, 2 cases, protocol luna16" in capsys.readouterr().out
    assert evaluate("--series fold.csv") == 0
    assert "  mine: passed" in capsys.readouterr().out


def test_options_that_differ_from_the_plan_are_refused_all_at_once(workdir: Path, capsys) -> None:
    freeze()
    capsys.readouterr()
    assert evaluate("--protocol nifdc-2022 --bootstraps 7 --seed 7") == 1
    assert capsys.readouterr().err.splitlines() == [
        "error: plan.json: fixes the protocol 'luna16', not 'nifdc-2022'. "
        "Leave out the option or the plan.",
        "error: plan.json: fixes 50 bootstraps, not 7. Leave out the option or the plan.",
        "error: plan.json: fixes the seed 0, not 7. Leave out the option or the plan.",
    ]
    assert not (workdir / "result").exists()
    assert evaluate("--bootstraps 50 --seed 0") == 0


@pytest.mark.usefixtures("workdir")
def test_a_plan_is_never_overwritten(capsys) -> None:
    freeze()
    assert freeze() == 1
    assert "error: plan.json: exists already; a frozen plan is never overwritten." in (
        capsys.readouterr().err
    )


def test_a_result_of_another_run_in_the_same_folder_leaves_nothing_behind(
    signed: Path, capsys
) -> None:
    assert run("evaluate mine.csv --reference luna16 --bootstraps 20 --out result --force") == 0
    assert not (signed / "plan.json").exists()
    assert not (signed / "manifest.sig").exists()
    assert run("verify result") == 0
    capsys.readouterr()
    assert run("verify result --public-key key.pub.pem") == 1
    assert "error: result: is not signed." in capsys.readouterr().err


def test_each_file_that_is_changed_is_named(signed: Path, capsys) -> None:
    files = sorted(path for path in signed.rglob("*") if path.is_file())
    assert len(files) == 12
    for path in files:
        whole = path.read_bytes()
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1
        path.write_bytes(changed)
        assert run("verify result --public-key key.pub.pem") == 1, path
        assert path.name in capsys.readouterr().err
        path.write_bytes(whole)
    assert run("verify result --public-key key.pub.pem") == 0


def test_a_forger_with_another_key_is_found(signed: Path, capsys) -> None:
    path = signed / "evaluation.json"
    path.write_text(path.read_text().replace('"verdict": "passed"', '"verdict": "failed"'))
    (signed / "manifest.json").unlink()
    (signed / "manifest.sig").unlink()
    from nodulebench.io.manifests import write_manifest

    write_manifest(signed)
    assert run("keys new forged.pem --pem") == 0
    assert run("sign result --key forged.pem --by Laboratory") == 0
    capsys.readouterr()
    assert run("verify result --public-key key.pub.pem") == 1
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith(
        "error: result/manifest.json: says that it was signed with the key "
    )
    assert errors[1] == 'error: evaluation.json plan.verdict: written "failed", recomputed "passed"'
    assert run("verify result") == 1


@pytest.mark.usefixtures("signed")
def test_without_a_public_key_whose_signature_it_is_stays_open(capsys) -> None:
    assert run("verify result") == 0
    assert "its owner was not checked: give --public-key" in capsys.readouterr().out


def test_an_encrypted_key(workdir: Path, capsys) -> None:
    run("evaluate mine.csv --reference luna16 --bootstraps 5 --out result")
    (workdir / "secret").write_text("correct horse\n")
    (workdir / "wrong").write_text("wrong horse\n")
    (workdir / "empty").write_text("")
    assert run("keys new key.pem --pem --key-passphrase-file secret") == 0
    assert "wrote key.pem (private, encrypted)" in capsys.readouterr().out
    assert run("sign result --key key.pem") == 1
    assert "key.pem: has a passphrase, but none was given" in capsys.readouterr().err
    assert run("sign result --key key.pem --key-passphrase-file wrong") == 1
    assert "key.pem: does not open with this passphrase" in capsys.readouterr().err
    assert run("sign result --key key.pem --key-passphrase-file empty") == 1
    assert "empty: has no passphrase in its first line" in capsys.readouterr().err
    assert run("sign result --key key.pem --key-passphrase-file none") == 1
    assert "none: cannot be read as text" in capsys.readouterr().err
    assert run("sign result --key key.pem --key-passphrase-file secret") == 0
    assert run("verify result --public-key key.pub.pem") == 0


def test_a_passphrase_is_read_from_a_prompt(workdir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nodulebench.security.signatures import is_encrypted

    monkeypatch.setattr("click.prompt", lambda *_, **__: "correct horse")
    assert run("keys new key.pem --pem --ask-passphrase") == 0
    assert is_encrypted(workdir / "key.pem")
    run("evaluate mine.csv --reference luna16 --bootstraps 5 --out result")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run("sign result --key key.pem") == 0


@pytest.mark.usefixtures("signed")
def test_the_original_files_are_recomputed(workdir: Path, capsys) -> None:
    assert run("verify result --reference luna16 --marks mine.csv") == 0
    assert "recomputed  from the originals: " in capsys.readouterr().out
    (workdir / "mine.csv").write_text(HEADER + "scan1,0,0,0,0.9\n")
    assert run("verify result --reference luna16 --marks mine.csv") == 1
    assert "counts.false_positive: written 1, recomputed 0" in capsys.readouterr().err


def test_a_protocol_that_was_changed_is_not_recomputed(signed: Path, capsys) -> None:
    path = signed / "evaluation.json"
    path.write_text(path.read_text().replace('"mark_cap": 100', '"mark_cap": 99'))
    assert run("verify result") == 1
    captured = capsys.readouterr()
    assert "error: evaluation.json digests.protocol: written" in captured.err
    assert "nothing, because protocol, cases or reference do not match the digests" in captured.out


def test_another_version_is_reported(signed: Path, capsys) -> None:
    path = signed / "evaluation.json"
    document = json.loads(path.read_text())
    document["version"] = "0.0.1"
    path.write_text(json.dumps(document))
    assert run("verify result") == 1
    assert "warning: made by NoduleBench 0.0.1, recomputed by " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("sign", "Missing argument 'FOLDER'"),
        ("sign result", "Missing option '--key'. Add --key KEY: Your private key"),
        ("keys new", "Missing argument 'KEY'"),
        ("verify result --marks mine.csv", "--reference and --marks go together"),
        ("verify result --reference luna16", "--reference and --marks go together"),
        ("verify result --series fold.csv", "--reference and --marks go together"),
        ("verify", "Missing argument 'FOLDER'"),
    ],
)
@pytest.mark.usefixtures("workdir")
def test_wrong_usage(capsys, command: str, message: str) -> None:
    assert run(command) == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("workdir")
def test_verify_of_another_file_prints_one_clear_line(capsys) -> None:
    assert run("verify none") == 1
    assert capsys.readouterr().err == "error: none: is not a folder.\n"


@pytest.mark.usefixtures("workdir")
def test_evaluating_without_a_plan_loads_nothing_of_plans_and_signatures() -> None:
    program = (
        "import sys\nfrom nodulebench.cli import main\n"
        "try: main('evaluate mine.csv --reference luna16 --bootstraps 5 --out result'.split())\n"
        "except SystemExit: pass\n"
        "loaded = [m for m in sys.modules if 'plan' in m and m.startswith('nodulebench')]\n"
        "sys.exit(repr(loaded) if loaded or 'cryptography' in sys.modules else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
