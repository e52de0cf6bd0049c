import ast
import subprocess
import sys
from pathlib import Path

import pytest

import nodulebench


def test_the_list_the_places_and_the_types_say_the_same() -> None:
    tree = ast.parse(Path(nodulebench.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    typed = {
        alias.name: node.module.removeprefix("nodulebench.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    assert typed == nodulebench._MODULES
    assert sorted(typed) == sorted(nodulebench.__all__)


@pytest.mark.parametrize("name", nodulebench.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(nodulebench, name) is not None
    assert name in dir(nodulebench)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'nodulebench' has no attribute 'evalute'"):
        nodulebench.evalute  # noqa: B018


def test_importing_the_package_loads_none_of_its_modules_and_no_other_package() -> None:
    program = (
        "import sys, nodulebench\n"
        "print(*(name for name in sys.modules if name.startswith('nodulebench.')))\n"
        "print(*({'numpy', 'polars', 'pydantic', 'click', 'scipy'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["nodulebench.core", "nodulebench.core.registry"]
