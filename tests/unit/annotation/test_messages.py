"""Messages of annotation also appear on web pages, so they name no option of a command."""

import ast
import re
from pathlib import Path

from nodulebench import annotation

OPTION = re.compile(r"(?<![\w-])--[a-z]")


def test_messages_name_no_options_of_commands() -> None:
    named = [
        f"{path.name}:{text.lineno}"
        for path in Path(annotation.__path__[0]).glob("*.py")
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call | ast.Assign)
        for text in ast.walk(call)
        if isinstance(text, ast.Constant) and OPTION.search(str(text.value))
    ]
    assert named == []
