"""What README.md shows is what the commands print."""

import re
from pathlib import Path

import nodulebench
from builders.doc_blocks import Block, blocks_of, lines_not_shown, run_block
from builders.places import ROOT

README = ROOT / "README.md"


def block_with(text: str) -> Block:
    (block_found,) = [block for block in blocks_of(README) if text in block.text]
    return block_found


def test_the_luna16_command_prints_what_the_readme_shows(luna16_data: Path, tmp_path: Path) -> None:
    (tmp_path / "luna16").symlink_to(luna16_data)
    name = "deeplung_dpn26_888.csv.gz"
    (tmp_path / name).symlink_to(luna16_data / "submissions" / name)
    evaluate = block_with("nodulebench evaluate")
    assert lines_not_shown(evaluate.shown, run_block(evaluate, tmp_path)) == []
    python = block_with("import nodulebench")
    assert "0.8419657913755723" in run_block(python, tmp_path)
    assert (tmp_path / "froc.svg").is_file()
    assert (tmp_path / "from-python" / "report.html").is_file()


def test_every_make_target_of_the_readme_exists() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    named = set(re.findall(r"\bmake (\w+)", README.read_text(encoding="utf-8")))
    assert {"demo", "test", "docs", "benchmark"} <= named <= targets


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    links = re.findall(r"\]\((?!http)([^)#]+)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (ROOT / link).is_file()] == []


def test_numbers_of_the_readme_are_those_of_the_program(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    rules = re.search(r"^\| rules for a hit \| (\d+), with parameters", text, re.M)
    assert rules is not None
    assert int(rules[1]) == len(nodulebench.RULES)
    shown = run_block(Block("bash", "nodulebench conformance export golden"), tmp_path)
    cases = re.search(r"conformance kit\]\(.*?\): (\d+) small cases", text)
    assert cases is not None
    assert f"wrote golden: {cases[1]} cases" in shown
    deidentified = ROOT / "docs" / "how-to" / "curate" / "deidentify.md"
    planted = re.search(r"tested with (\d+) planted identities, none of which survives", text)
    assert planted is not None
    assert re.search(
        rf"^\| all \| {planted[1]} \|.*\| 0 \|$", deidentified.read_text("utf-8"), re.M
    )


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 200


def test_the_citation_names_this_version() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {nodulebench.__version__}\n" in citation
