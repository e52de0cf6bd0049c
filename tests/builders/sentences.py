"""Notices with a sentence from elsewhere, where a test needs no code."""

from typing import Any

from nodulebench.core.notices import Notice, stated_notice


def sentence(text: str) -> Notice:
    """A notice with an unchanged text."""
    return stated_notice(text)


def sentence_json(text: str) -> dict[str, Any]:
    """The same as a document holds it."""
    return sentence(text).to_json()
