"""Certificates: one per result, numbered and signed; anyone can verify them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest

from builders.commands import run
from builders.portal import GOOD, NODULES, SET, Browser, make_person, signed_in, work_off
from nodulebench.security.keys import new_person_key, read_private_key
from nodulebench.security.statements import signed_statement
from nodulebench.web.portal.accounts.service import close_account
from nodulebench.web.portal.accounts.users import User
from nodulebench.web.portal.site import Site


def certified(browser: Browser, benchmark: str) -> tuple[str, str]:
    """The URLs of a scored entry and of its certificate."""
    entry = browser.send(benchmark, "submit", GOOD).headers["location"]
    work_off(browser.site)
    return entry, browser.post(f"{entry}/certificate", entry).headers["location"]


Verified = Callable[..., tuple[int, str]]


@pytest.fixture
def verified(capsys: pytest.CaptureFixture[str]) -> Verified:
    """Run ``nodulebench verify``; return its status and output."""

    def called(path: Path, *more: str) -> tuple[int, str]:
        status = run("verify", path, *more)
        return status, "".join(capsys.readouterr())

    return called


@pytest.mark.slow
def test_a_certificate_is_numbered_signed_and_made_once(
    site: Site, as_ada: Browser, benchmark: str, tmp_path: Path, verified: Verified
) -> None:
    entry, page = certified(as_ada, benchmark)
    assert page == "/certificates/1"
    assert as_ada.post(f"{entry}/certificate", entry).headers["location"] == page
    assert certified(as_ada, benchmark)[1] == "/certificates/2"
    shown = Browser(site).get(page).text
    assert "Certificate No. 1" in shown
    assert "0.667" in shown
    assert page in Browser(site).get(entry).text

    key, statement = tmp_path / "portal.pub", tmp_path / "certificate.json"
    key.write_text(Browser(site).get("/key").text)
    statement.write_bytes(Browser(site).get(f"{page}/statement.json").content)
    code, output = verified(statement, "--public-key", str(key))
    assert code == 0
    assert "number      1 of http://testserver" in output
    assert "metric      luna16 recall 0.667" in output
    assert output.endswith("certificate.json: verified\n")
    assert "not checked" not in output
    assert "not checked: give --public-key" in verified(statement)[1]


def test_a_changed_certificate_is_rejected(
    as_ada: Browser, benchmark: str, tmp_path: Path, verified: Verified
) -> None:
    _, page = certified(as_ada, benchmark)
    file = tmp_path / "changed.json"
    changes = ((("readings", 0, "value"), 0.99), (("number",), 2), (("entry", "by"), "Another"))
    for path, value in changes:
        statement = as_ada.get(f"{page}/statement.json").json()
        part = statement["certificate"]
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        file.write_text(json.dumps(statement))
        code, output = verified(file)
        assert code != 0
        assert "was changed after it was signed" in output
    for text in ("{", "[]", '{"receipt": 1, "key": "", "code": ""}', '{"receipt": {}}'):
        file.write_text(text)
        assert verified(file)[0] != 0


def test_a_certificate_of_another_site_is_rejected(
    as_ada: Browser, benchmark: str, tmp_path: Path, verified: Verified
) -> None:
    _, page = certified(as_ada, benchmark)
    file = tmp_path / "certificate.json"
    file.write_bytes(as_ada.get(f"{page}/statement.json").content)
    new_person_key(tmp_path / "other")
    code, output = verified(file, "--public-key", str(tmp_path / "other.pub"))
    assert code != 0
    assert "is signed by another key" in output


def test_a_statement_signed_by_others_is_not_a_certificate(
    tmp_path: Path, verified: Verified
) -> None:
    """Nor can it write control characters to the terminal."""
    new_person_key(tmp_path / "own")
    key, file = read_private_key(tmp_path / "own"), tmp_path / "own.json"
    for statement in ({}, {"readings": 1, "benchmark": [], "entry": None}):
        file.write_text(json.dumps(signed_statement("certificate", statement, key)))
        code, output = verified(file)
        assert code != 0
        assert "lacks the content of a certificate" in output
    statement = {"entry": "\x1b[2J", "at": "now", "digest": "none"}
    file.write_text(json.dumps(signed_statement("receipt", statement, key)))
    code, output = verified(file)
    assert code == 0
    assert "\x1b" not in output


def test_a_print_is_signed_as_a_file(
    as_ada: Browser, benchmark: str, tmp_path: Path, verified: Verified
) -> None:
    pytest.importorskip("typst", reason="the extra 'pdf' is not installed")
    _, page = certified(as_ada, benchmark)
    content = as_ada.get(f"{page}/certificate.pdf").content
    file, changed = tmp_path / "certificate.pdf", tmp_path / "changed.pdf"
    file.write_bytes(content)
    changed.write_bytes(content.replace(b"%PDF-1", b"%PDF-2", 1))
    assert verified(file)[0] == 0
    assert verified(changed)[0] != 0
    changed.write_bytes(content.rpartition(b"\n%nodulebench ")[0])
    assert "is a PDF without a signature" in verified(changed)[1]
    assert b"/Marked true" in content
    for words in (["pdfinfo", file], ["pdftoppm", "-r", "20", file, tmp_path / "page"]):
        if which(str(words[0])):
            output = subprocess.run(words, capture_output=True, check=True).stderr
            assert output == b"", "a reader of PDF finds nothing to complain of"


@pytest.mark.slow
def test_who_may_have_a_certificate(site: Site, as_ada: Browser, lin: User, benchmark: str) -> None:
    entry, page = certified(as_ada, benchmark)
    as_lin = signed_in(site, lin.login)
    assert as_lin.post(f"{entry}/certificate", entry).status_code == 404
    waiting = as_ada.send(benchmark, "submit", GOOD).headers["location"]
    assert as_ada.post(f"{waiting}/certificate", waiting).status_code == 409
    as_ada.post(f"{entry}/withdraw", entry)
    assert as_ada.post(f"{entry}/certificate", entry).status_code == 409
    assert "was withdrawn afterwards" in Browser(site).get(page).text
    for wrong in ("/certificates/7", "/certificates/0", "/certificates/99999999999999999999"):
        assert Browser(site).get(wrong).status_code in (404, 422)


@pytest.mark.slow
def test_hidden_names_appear_in_no_certificate(
    site: Site, as_ada: Browser, as_organiser: Browser, benchmark: str
) -> None:
    _, page = certified(as_ada, benchmark)
    as_organiser.post(
        f"/benchmarks/{benchmark}/change", f"/benchmarks/{benchmark}", shown="yes", anonymous="yes"
    )
    make_person(site, "eve", "participant")
    for path in (page, f"{page}/statement.json", f"{page}/certificate.pdf"):
        assert Browser(site).get(path).status_code == 404
        assert signed_in(site, "eve").get(path).status_code == 404
        assert as_ada.get(path).status_code == 200


@pytest.mark.slow
def test_a_closed_account_takes_its_name_from_certificates(
    site: Site, as_ada: Browser, ada: User, organiser: User, benchmark: str
) -> None:
    _, page = certified(as_ada, benchmark)
    close_account(site, ada.account, organiser.account)
    assert Browser(site).get(page).status_code == 404
    make_person(site, "eve", "participant")
    assert certified(signed_in(site, "eve"), benchmark)[1] == "/certificates/2"


@pytest.mark.slow
def test_a_corrected_test_set_supersedes_a_certificate(
    site: Site, as_ada: Browser, as_organiser: Browser, benchmark: str
) -> None:
    entry, page = certified(as_ada, benchmark)
    before = as_ada.get(f"{page}/statement.json").json()
    annotations = site.settings.sets / SET / "annotations.csv"
    corrected = annotations.read_text().replace(f"{NODULES[2]}\n", "")
    annotations.write_text(corrected)
    as_organiser.post(f"/benchmarks/{benchmark}/rescore", f"/benchmarks/{benchmark}")
    work_off(site)
    assert "scored again" in Browser(site).get(page).text
    assert as_ada.get(f"{page}/statement.json").json() == before
    newer = as_ada.post(f"{entry}/certificate", entry).headers["location"]
    assert newer == "/certificates/2"
    statement = as_ada.get(f"{newer}/statement.json").json()["certificate"]
    assert statement["benchmark"]["version"] == 2
    recall = [
        reading["value"] for reading in statement["readings"] if reading["metric"] == "recall"
    ]
    assert recall == [1.0]  # the correction removed the missed nodule
