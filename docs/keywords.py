"""The keywords in the front matter of a page -> phrases that the search finds.

``keywords: sample size, how many scans`` names what people type and the text may not contain.
"""

import re
from typing import Any

KEYWORDS = re.compile(r"\A---\n(?:.*\n)*?keywords: (?P<phrases>.+)\n(?:.*\n)*?---\n")
TITLE = re.compile(r"^# .+\n", re.MULTILINE)


def add_keywords(_app: Any, _page: str, source: list[str]) -> None:
    """Make each phrase a main entry of the index, and each of its words a word of the page."""
    header = KEYWORDS.match(source[0])
    if header is None:
        return
    phrases = [phrase.strip().lower() for phrase in header["phrases"].split(",")]
    words = sorted({word for phrase in phrases for word in phrase.split()})
    entries = "\n".join(f"   ! single: {phrase}" for phrase in phrases)
    hidden = f".. meta::\n   :keywords: {', '.join(words)}\n\n.. index::\n{entries}\n"
    source[0] = TITLE.sub(
        lambda title: f"{title.group()}\n```{{eval-rst}}\n{hidden}```\n", source[0], count=1
    )
