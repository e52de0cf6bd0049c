"""ARCHITECTURE.md is one page, and true: layers, packages, the files it names, dependencies."""

import ast
import re
import tomllib

from builders.places import ROOT

PACKAGE = ROOT / "src" / "nodulebench"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DEPENDENCIES = ROOT / "docs" / "decisions" / "0017-few-dependencies.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LAYERS = next(
    contract
    for contract in PROJECT["tool"]["importlinter"]["contracts"]
    if contract["type"] == "layers"
)

FOR_DEVELOPERS = ("test", "dev", "release")
"""Extras that users do not install."""


def purpose(package: str) -> str:
    """The first sentence of a top-level package or module."""
    path = PACKAGE / package / "__init__.py"
    path = path if path.exists() else PACKAGE / f"{package}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split())


def test_the_page_is_short() -> None:
    assert len(PAGE.encode()) <= 8_000


def test_the_layers_drawn_are_those_that_are_checked() -> None:
    assert PAGE.split("```")[1].strip().splitlines() == LAYERS["layers"]
    assert LAYERS["exhaustive"]


def test_every_package_has_its_line() -> None:
    section = PAGE.split("\n## Packages")[1].split("\n## ")[0]
    stated = dict(re.findall(r"^\| `([a-z_0-9]+)` \| (.*) \|$", section, re.M))
    packages = {name.strip() for line in LAYERS["layers"] for name in line.split("|")}
    assert stated == {package: purpose(package) for package in packages - {"__main__"}}


def test_every_path_named_exists() -> None:
    named = [path.strip("`") for path in re.findall(r"`[a-z_0-9]+(?:/[a-z_0-9.]+)+/?`", PAGE)]
    records = (ROOT / "docs" / "decisions").glob("*.md")
    for record in (*records, ROOT / "CONTRIBUTING.md"):
        text = record.read_text(encoding="utf-8")
        named += [path.strip("`") for path in re.findall(r"`[a-z_0-9]+/[a-z_0-9./-]+`", text)]

    def exists(path: str) -> bool:
        starts = (PACKAGE, ROOT)
        return any((at / path).exists() or (at / f"{path}.py").exists() for at in starts)

    assert len(named) > 40
    assert sorted({path for path in named if not exists(path)}) == []


def test_every_decision_has_the_same_four_parts() -> None:
    parts = ["Context", "Decision", "Consequences", "Rejected"]
    records = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
    headings = {
        record.name: re.findall(r"^## (.*)$", record.read_text("utf-8"), re.M) for record in records
    }
    assert [name for name, present in headings.items() if present != parts] == []
    assert [int(record.name[:4]) for record in records] == list(range(1, len(records) + 1))


def test_every_dependency_has_its_line_and_every_line_its_dependency() -> None:
    project = PROJECT["project"]
    extras = {"": project["dependencies"], **project["optional-dependencies"]}

    def names(packages: list[str]) -> set[str]:
        return {re.split(r"[<>=\[~!;]", package)[0].lower() for package in packages}

    used = {
        name for extra in extras if extra not in FOR_DEVELOPERS for name in names(extras[extra])
    }
    developers = {name for extra in FOR_DEVELOPERS for name in names(extras[extra])}
    table = DEPENDENCIES.read_text(encoding="utf-8")
    rows = [re.sub(r"\(.*?\)", "", row) for row in re.findall(r"^\| ([^|]+) \|", table, re.M)[1:]]
    stated = {name.strip().lower() for row in rows for name in row.split(",")}
    assert used - stated == set()
    assert stated - used - developers == set()
