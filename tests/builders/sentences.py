"""Notices that are a sentence of somebody else, where a test needs no code."""

from typing import Any

from nodulebench.core.notices import Notice, stated_notice


def sentence(text: str) -> Notice:
    """A notice that says a text as it stands."""
    return stated_notice(text)


def sentence_json(text: str) -> dict[str, Any]:
    """The same as a document holds it."""
    return sentence(text).to_json()
