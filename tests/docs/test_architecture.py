"""ARCHITECTURE.md says what the tree is: floors, rooms, files that it names, dependencies."""

import ast
import re
import tomllib
from pathlib import Path

from builders.places import ROOT

PACKAGE = ROOT / "src" / "nodulebench"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

FOR_DEVELOPERS = ("test", "dev", "release")
"""Extras that users do not install."""


def rooms() -> dict[str, Path]:
    """Every package of the tree by its place."""
    found = (init.parent for init in PACKAGE.rglob("__init__.py"))
    return {f"{one.relative_to(PACKAGE)}/": one for one in found if one != PACKAGE}


def test_the_floors_drawn_are_those_that_are_checked() -> None:
    (layers,) = [
        contract
        for contract in PROJECT["tool"]["importlinter"]["contracts"]
        if "layers" in contract
    ]
    drawn = PAGE.split("```")[1].strip().splitlines()
    assert drawn == layers["layers"]
    assert layers["exhaustive"]


def test_every_room_stands_there_in_its_own_words() -> None:
    section = PAGE.split("\n## Rooms")[1].split("\n## ")[0]
    told = dict(re.findall(r"^\| `([a-z_0-9/]+/)` \| (.*) \|$", section, re.M))
    words = {
        room: " ".join(
            (ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or "")
            .split("\n\n")[0]
            .split()
        )
        for room, folder in rooms().items()
    }
    assert told == words


def test_every_place_named_exists() -> None:
    code = [one.strip("`") for one in re.findall(r"`[a-z_0-9]+(?:/[a-z_0-9.]+)+/?`", PAGE)]
    drawn = re.findall(r"\b(?:[a-z_]+/)+[a-z_]+\b", PAGE.split("\n## Four ways")[1].split("```")[1])
    assert len(code) > 20
    assert len(drawn) > 8

    def exists(place: str) -> bool:
        starts = (PACKAGE, ROOT)
        return any((at / place).exists() or (at / f"{place}.py").exists() for at in starts)

    assert [one for one in {*code, *drawn} if not exists(one)] == []


def test_every_dependency_has_its_line_and_every_line_its_dependency() -> None:
    project = PROJECT["project"]
    wanted = {"": project["dependencies"], **project["optional-dependencies"]}
    names = {
        re.split(r"[<>=\[~!;]", package)[0].lower()
        for extra, packages in wanted.items()
        if extra not in FOR_DEVELOPERS
        for package in packages
    }
    section = PAGE.split("\n## Dependencies")[1]
    rows = [re.sub(r"\(.*?\)", "", row) for row in re.findall(r"^\| ([^|]+) \|", section, re.M)[1:]]
    told = {name.strip().lower() for row in rows for name in row.split(",")}
    of_dev = {
        re.split(r"[<>=\[~!;]", one)[0].lower() for extra in FOR_DEVELOPERS for one in wanted[extra]
    }
    assert names - told == set()
    assert told - names - of_dev == set()
