"""The page on the portal's security names tests that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_that_the_page_names_is_there() -> None:
    page = (ROOT / "docs/explanation/portal-security.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)?test_\w+)`", page))
    assert len(named) > 15
    assert [
        name for name in named if not (ROOT / f"tests/unit/web/portal/{name}.py").is_file()
    ] == []
