"""Every registered rule, metric, format, protocol, command and public name has its entry."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import reader_picture
import rule_pictures
from generate import PAGES, write_pages
from generate.curation import code_meanings
from generate.markdown import allowed, docstring_section, field_meanings
from generate.messages import context_of, message_texts

import nodulebench
from builders.commands import parsed
from builders.places import ROOT
from nodulebench.cli import COMMANDS
from nodulebench.core.protocol import PROTOCOL_NAMES, load_protocol
from nodulebench.core.tables import TABLES

DOCS = ROOT / "docs"
RULES, METRICS = tuple(nodulebench.RULES), tuple(nodulebench.METRICS)
FORMATS = tuple(nodulebench.FORMATS)
LABELS_IN_WORDS = {
    "two hits": "hit, hit",
    "one hit": "hit",
    "missed": "false_positive",
    "hit, false positive": "false_positive, hit",
    "hit, duplicate": "duplicate, hit",
    "false positive": "false_positive",
}
"""How the table of situations puts the labels of a situation's marks."""


def entries(page: str) -> set[str]:
    return set(re.findall(r"^##+ (.+)$", PAGES[page](), re.MULTILINE))


def rows(page: str) -> Iterator[list[str]]:
    for line in page.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("mark-rules.md", RULES),
        ("metrics.md", METRICS),
        ("formats.md", FORMATS),
        ("published-protocols.md", PROTOCOL_NAMES),
        ("tables.md", tuple(schema.name for schema in TABLES)),
        ("public-names.md", tuple(nodulebench.__all__)),
        ("protocol-fields.md", ("TestProtocol", "RuleChoice", "IntervalChoice", "SizeLimit")),
        ("custody-policy.md", ("CustodyPolicy", "Person", "Reuse", "RosterPolicy")),
    ],
)
def test_everything_of_a_registry_has_its_entry(page: str, names: tuple[str, ...]) -> None:
    assert sorted(set(names) - entries(page)) == []


def test_every_command_has_its_page_with_all_subcommands() -> None:
    listed = PAGES["command-line.md"]()
    for name in COMMANDS:
        page = PAGES[f"command-{name}.md"]()
        assert page.startswith(f"# nodulebench {name}\n")
        assert f"[{name}](command-{name}.md)" in listed
    assert "## nodulebench annotate observer analyse\n" in PAGES["command-annotate.md"]()
    assert "compare-algorithms.md)" in PAGES["command-compare.md"]()


@pytest.mark.parametrize(
    "page", ["protocol-fields.md", "custody-policy.md", "mark-rules.md", "tables.md"]
)
def test_no_field_parameter_or_column_lacks_a_meaning(page: str) -> None:
    heads: list[str] = []
    silent = []
    for cells in rows(PAGES[page]()):
        if "meaning" in cells:
            heads = cells
        elif "meaning" in heads and not cells[heads.index("meaning")]:
            silent.append(cells[0])
    assert heads
    assert silent == []


def test_an_unexplained_field_of_the_document_stops_the_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from generate import evaluation_json

    def silent(kind: type) -> dict[str, str]:
        return dict.fromkeys(field_meanings(kind), "")

    monkeypatch.setattr(evaluation_json, "field_meanings", silent)
    with pytest.raises(ValueError, match=r"what they mean: Document\.schema"):
        evaluation_json.evaluation_json_page()


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_has_a_page_with_its_picture_and_a_citation(rule: str) -> None:
    page = DOCS / "explanation" / "rules" / f"{rule}.md"
    assert page.is_file(), f"write {page}"
    text = page.read_text(encoding="utf-8")
    assert f"pictures/rule-{rule}.svg" in text
    assert re.search(r"\(\d{4}\)", text), f"{page} cites no paper"


@pytest.mark.parametrize("rule", RULES)
def test_the_picture_of_a_rule_agrees_with_the_rule(rule: str) -> None:
    committed = rule_pictures.picture_of(rule).read_text(encoding="utf-8")
    assert committed == rule_pictures.draw_rule(rule), "run python docs/draw/rule_pictures.py"


@pytest.mark.parametrize("rule", RULES)
def test_the_table_of_situations_agrees_with_the_rule(rule: str) -> None:
    page = (DOCS / "explanation" / "rules" / "index.md").read_text(encoding="utf-8")
    head, *lines = rows(page)
    column = [cell.partition("]")[0].lstrip("[") for cell in head].index(rule)
    labels = rule_pictures.label_situations(rule)
    stated = [
        ", ".join(sorted(labels.filter(case_id=str(number))["label"].cast(str)))
        for number in range(len(rule_pictures.SITUATIONS))
    ]
    assert [LABELS_IN_WORDS.get(cells[column], cells[column]) for cells in lines] == stated


def test_the_picture_of_readers_agrees_with_its_table() -> None:
    page = reader_picture.PAGE.read_text(encoding="utf-8")
    rows = reader_picture.sessions(page)
    assert len(rows) == 4
    for row in rows:
        assert f"| {row.sensitivity:.3f} | {row.lone} | {row.lone_per_scan:.3f} |" in page
    committed = reader_picture.PICTURE.read_text(encoding="utf-8")
    assert committed == reader_picture.draw(rows), "run python docs/draw/reader_picture.py"


def test_the_home_page_gives_each_role_a_first_command_that_would_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, *_: Path(value))
    home = (DOCS / "index.md").read_text(encoding="utf-8")
    firsts = re.findall(r"^(\S.*)\n: `(nodulebench .*)`\n\n  \[", home, re.M)
    assert len(firsts) == 7
    assert len({who for who, _ in firsts}) == len({parsed(line) for _, line in firsts}) == 7
    assert {parsed(line) for line in re.findall(r"^nodulebench .*$", home, re.M)} == {"demo"}


def test_the_page_on_installing_has_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = (DOCS / "start" / "install.md").read_text(encoding="utf-8")
    stated = re.findall(r"^\| `(\w+)` \| ", text, re.M)[: text.count("\n| `")]
    extras = set(project["optional-dependencies"]) - {"docs", "test", "dev", "release"}
    assert {name for name in stated if name in extras} == extras


def test_the_index_of_rules_shows_a_picture_of_each() -> None:
    page = (DOCS / "explanation" / "rules" / "index.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\[!\[.*\]\(../../pictures/rule-(.+)\.svg\)\]\((.+)\.md\)$", page, re.M)
    assert shown == [(rule, rule) for rule in RULES]
    assert re.findall(r"pictures/rule-(.+)\.svg", PAGES["mark-rules.md"]()) == list(RULES)


def test_published_protocols_name_what_exists() -> None:
    for name in PROTOCOL_NAMES:
        protocol = load_protocol(name)
        assert [rule.name for rule in protocol.rules if rule.name not in RULES] == []
        assert [metric for metric in protocol.metrics if metric not in METRICS] == []


def test_pages_that_are_no_longer_made_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old.md").write_text("# Old\n", encoding="utf-8")
    some = {name: PAGES[name] for name in ("metrics.md", "evaluation.schema.json")}
    monkeypatch.setattr("generate.PAGES", some)
    write_pages(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(some)


def test_docstrings_and_schemas_read_as_words() -> None:
    def example(first: int, second: str) -> None:
        """Do a thing.

        Args:
            first: a number that needs
                two lines.
            second: a text.
        """

    assert docstring_section(example, "Args") == {
        "first": "a number that needs two lines.",
        "second": "a text.",
    }
    assert allowed({"type": "number", "exclusiveMinimum": 0, "maximum": 1}) == "number > 0 and ≤ 1"
    assert allowed({"anyOf": [{"type": "integer"}, {"type": "null"}]}) == "whole number or nothing"
    assert field_meanings(nodulebench.RuleChoice)["name"] == "Name of a registered mark rule."


def test_every_code_of_curation_and_each_warning_of_a_check_has_its_context() -> None:
    assert list(context_of("curate")) == list(code_meanings())
    assert set(context_of("check")) <= set(message_texts())
    for command in ("check", "curate"):
        for context in context_of(command).values():
            assert {name for name, text in context.items() if text} == {"how", "why", "do"}
